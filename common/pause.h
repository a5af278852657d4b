// A coroutine that does nothing for a while, or until it is cancelled. Monotonic time.
#pragma once

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>

namespace sandkeep {

inline boost::asio::awaitable<void> Pause(std::chrono::milliseconds span) {
  boost::asio::steady_timer timer(co_await boost::asio::this_coro::executor, span);
  co_await timer.async_wait(boost::asio::as_tuple(boost::asio::use_awaitable));
}

}  // namespace sandkeep
