// Wakes all who wait for a job to change. No polling, no list of waiters to go stale: a waiter that
// is cancelled is gone. On the sandbox's strand.
//
// A waiter looks first and waits then, without giving up the strand in between, so that no change
// is missed.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <tuple>

namespace sandkeep {

class Notifier {
 public:
  explicit Notifier(const boost::asio::any_io_executor& strand)
      : timer_(strand, boost::asio::steady_timer::time_point::max()) {}

  void Notify() { timer_.cancel(); }

  // Returns at the next Notify, or when the coroutine is cancelled.
  boost::asio::awaitable<std::tuple<boost::system::error_code>> Wait() {
    return timer_.async_wait(boost::asio::as_tuple(boost::asio::use_awaitable));
  }

 private:
  boost::asio::steady_timer timer_;
};

}  // namespace sandkeep
