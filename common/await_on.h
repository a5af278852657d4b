// Awaits a coroutine that runs on another executor, and resumes on the caller's.
//
// Instead of co_spawn with use_awaitable: there Boost 1.81 hands a cancellation to the other
// executor as a pointer into the caller's wait, which is gone if the coroutine ends before it
// arrives. Here it belongs to both.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/prefer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <exception>
#include <memory>
#include <utility>

namespace sandkeep {

// `where` runs one thing at a time: a strand, or a context with one thread. The caller's executor
// is kept busy meanwhile. A plain function, so that no closure lives in a co_await expression; name
// `work` before the call.
template <typename T>
boost::asio::awaitable<T> AwaitOn(boost::asio::any_io_executor where,
                                  boost::asio::awaitable<T> work) {
  auto initiate = [](auto handler, const boost::asio::any_io_executor& on,
                     boost::asio::awaitable<T> run) {
    const auto cancel = std::make_shared<boost::asio::cancellation_signal>();
    auto slot = boost::asio::get_associated_cancellation_slot(handler);
    if (slot.is_connected()) {
      slot.assign([cancel, on](boost::asio::cancellation_type type) {
        boost::asio::post(on, [cancel, type]() { cancel->emit(type); });
      });
    }
    auto back = boost::asio::prefer(boost::asio::get_associated_executor(handler),
                                    boost::asio::execution::outstanding_work.tracked);
    auto finished = [cancel, handler = std::move(handler), back = std::move(back)](
                        const std::exception_ptr& error, T value) mutable {
      auto resume = [handler = std::move(handler), error, value = std::move(value)]() mutable {
        std::move(handler)(error, std::move(value));
      };
      boost::asio::dispatch(back, std::move(resume));
    };
    boost::asio::co_spawn(on, std::move(run),
                          boost::asio::bind_cancellation_slot(cancel->slot(), std::move(finished)));
  };
  return boost::asio::async_initiate<const boost::asio::use_awaitable_t<>,
                                     void(std::exception_ptr, T)>(
      std::move(initiate), boost::asio::use_awaitable, std::move(where), std::move(work));
}

}  // namespace sandkeep
