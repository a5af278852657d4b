// Runs something that blocks on an executor where that is allowed, and resumes with its result on
// the caller's. The caller's executor is kept busy meanwhile.
#pragma once

#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/prefer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <type_traits>
#include <utility>

namespace sandkeep {

// A plain function, so that no closure lives in a co_await expression; name `body` before the call.
template <typename Executor, typename Body>
boost::asio::awaitable<std::invoke_result_t<Body>> RunOn(Executor where, Body body) {
  using Result = std::invoke_result_t<Body>;
  auto initiate = [where = std::move(where)](auto handler, Body run) {
    auto back = boost::asio::prefer(boost::asio::get_associated_executor(handler),
                                    boost::asio::execution::outstanding_work.tracked);
    auto serve = [run = std::move(run), handler = std::move(handler),
                  back = std::move(back)]() mutable {
      Result result = run();
      auto resume = [handler = std::move(handler), result = std::move(result)]() mutable {
        std::move(handler)(std::move(result));
      };
      boost::asio::post(back, std::move(resume));
    };
    boost::asio::post(where, std::move(serve));
  };
  return boost::asio::async_initiate<const boost::asio::use_awaitable_t<>, void(Result)>(
      std::move(initiate), boost::asio::use_awaitable, std::move(body));
}

}  // namespace sandkeep
