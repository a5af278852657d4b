// A lock that coroutines on one strand wait for without blocking it: one engine call at a time for
// each sandbox. Used on its strand only.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

namespace sandkeep {

// Wakes coroutines on its strand. Whoever waits looks again at what it waits for.
class StrandSignal {
 public:
  explicit StrandSignal(const boost::asio::any_io_executor& strand)
      : timer_(strand, boost::asio::steady_timer::time_point::max()) {}

  boost::asio::awaitable<void> Wait() {
    co_await timer_.async_wait(boost::asio::as_tuple(boost::asio::use_awaitable));
  }
  void WakeOne() { timer_.cancel_one(); }
  void WakeAll() { timer_.cancel(); }

 private:
  boost::asio::steady_timer timer_;
};

// Counts what runs side by side, each on this strand.
struct Countdown {
  explicit Countdown(const boost::asio::any_io_executor& strand) : done(strand) {}
  std::size_t left = 0;
  StrandSignal done;
};

class StrandLock {
 public:
  explicit StrandLock(const boost::asio::any_io_executor& strand) : released_(strand) {}

  class Guard {
   public:
    Guard() = default;
    explicit Guard(StrandLock* lock) : lock_(lock) {}
    Guard(Guard&& other) noexcept : lock_(std::exchange(other.lock_, nullptr)) {}
    Guard& operator=(Guard&&) = delete;
    ~Guard() {
      if (lock_) lock_->Release();
    }
    explicit operator bool() const { return lock_ != nullptr; }

   private:
    StrandLock* lock_ = nullptr;
  };

  boost::asio::awaitable<Guard> Acquire() {
    while (held_) co_await released_.Wait();
    held_ = true;
    co_return Guard(this);
  }

  // Empty: somebody holds it.
  Guard TryAcquire() {
    if (held_) return Guard();
    held_ = true;
    return Guard(this);
  }

 private:
  void Release() {
    held_ = false;
    released_.WakeOne();
  }

  bool held_ = false;
  StrandSignal released_;
};

}  // namespace sandkeep
