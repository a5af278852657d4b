// A value that one thread delivers and a coroutine on another awaits: the way from gRPC's threads,
// or a test's, into a coroutine. Nothing here blocks.
//
// Held by shared_ptr from both sides. Deliver may come from any thread, before or after Take; the
// coroutine always resumes on its own executor, which has work while it waits. One value and one
// waiter at a time. Cancelling the waiter, or the time that it gave, resumes it with a value of its
// choice; what is delivered later waits for the next Take. A waiter whose context is destroyed goes
// with it.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

namespace sandkeep {

template <typename T>
class Pending : public std::enable_shared_from_this<Pending<T>> {
  using Alarm = boost::asio::steady_timer;

 public:
  using TimePoint = Alarm::time_point;

  // A second value before the first was taken replaces it.
  void Deliver(T value) {
    // Woken without the lock, which the waiter takes first of all: it would sleep again at once.
    if (const auto alarm = Put(std::move(value))) alarm->cancel();
  }

  // `on_cancel` is called on the coroutine's executor when the wait is cancelled, or over, before a
  // value came. A plain function on purpose: g++ 12 destroys closures of a co_await expression
  // twice.
  boost::asio::awaitable<T> Take(T if_cancelled, std::function<void()> on_cancel = {},
                                 TimePoint until = TimePoint::max()) {
    auto initiate = [self = this->shared_from_this(), if_cancelled = std::move(if_cancelled),
                     on_cancel = std::move(on_cancel), until](auto handler) mutable {
      const auto slot = boost::asio::get_associated_cancellation_slot(handler);
      auto fallback = [if_cancelled = std::move(if_cancelled),
                       on_cancel = std::move(on_cancel)]() mutable {
        if (on_cancel) on_cancel();
        return std::move(if_cancelled);
      };
      self->Wait(std::move(handler), slot, std::move(fallback), until);
    };
    return boost::asio::async_initiate<const boost::asio::use_awaitable_t<>, void(T)>(
        std::move(initiate), boost::asio::use_awaitable);
  }

  // Waits for the value whatever happens to the coroutine: for a value that surely comes.
  boost::asio::awaitable<T> TakeSurely() {
    auto initiate = [self = this->shared_from_this()](auto handler) {
      self->Wait(
          std::move(handler), boost::asio::cancellation_slot(), [] { return T(); },
          TimePoint::max());
    };
    return boost::asio::async_initiate<const boost::asio::use_awaitable_t<>, void(T)>(
        std::move(initiate), boost::asio::use_awaitable);
  }

  bool waited_for() const {
    const std::lock_guard lock(mutex_);
    return !alarm_.expired();
  }

 private:
  // The alarm of who waits for it, if anybody does; one deliverer gets it.
  std::shared_ptr<Alarm> Put(T value) {
    const std::lock_guard lock(mutex_);
    value_.emplace(std::move(value));
    return std::exchange(alarm_, {}).lock();
  }

  // A timer that mostly never goes off: Deliver or a cancellation ends its wait. It belongs to its
  // own wait, and so to the executor's context.
  template <typename Handler, typename Fallback>
  void Wait(Handler handler, boost::asio::cancellation_slot slot, Fallback fallback,
            TimePoint until) {
    const auto executor = boost::asio::get_associated_executor(handler);
    const std::lock_guard lock(mutex_);
    auto alarm = std::make_shared<Alarm>(executor, until);
    alarm_ = alarm;
    Alarm& timer = *alarm;
    auto woken = [self = this->shared_from_this(), alarm = std::move(alarm), slot,
                  handler = std::move(handler),
                  fallback = std::move(fallback)](boost::system::error_code) mutable {
      if (slot.is_connected()) slot.clear();
      std::optional<T> value = self->EndOfWait();
      if (!value.has_value()) value.emplace(fallback());
      alarm.reset();
      std::move(handler)(*std::move(value));
    };
    timer.async_wait(boost::asio::bind_cancellation_slot(
        slot, boost::asio::bind_executor(executor, std::move(woken))));
    if (value_.has_value()) timer.cancel();
  }

  std::optional<T> EndOfWait() {
    const std::lock_guard lock(mutex_);
    alarm_.reset();
    return std::exchange(value_, std::nullopt);
  }

  mutable std::mutex mutex_;
  std::optional<T> value_;
  std::weak_ptr<Alarm> alarm_;
};

}  // namespace sandkeep
