// Asynchronous results: a coroutine of ours returns a Status or StatusOr, never throws to its
// caller.
//
// Rules for coroutines here (g++ 12): never a lambda with captures inside a co_await expression;
// parameters by value, or references to objects that outlive the call; no coroutine lambdas with
// captures.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <exception>
#include <string_view>
#include <type_traits>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/log.h"

namespace sandkeep {

template <typename T>
using Async = boost::asio::awaitable<
    std::conditional_t<std::is_void_v<T>, absl::Status,
                       absl::StatusOr<std::conditional_t<std::is_void_v<T>, int, T>>>>;

// Starts a coroutine that nobody waits for. An exception at its root is our own fault: logged,
// never fatal to others.
template <typename Executor>
void Spawn(const Executor& executor, std::string_view name,
           boost::asio::awaitable<void> coroutine) {
  auto finished = [name](const std::exception_ptr& error) {
    if (!error) return;
    try {
      std::rethrow_exception(error);
    } catch (const std::exception& e) {
      Log(Severity::kError, "coroutine.failed", {{"name", name}, {"what", e.what()}});
    }
  };
  boost::asio::co_spawn(executor, std::move(coroutine), std::move(finished));
}

}  // namespace sandkeep
