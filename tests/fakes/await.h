// Runs coroutines of ours to their end from a test's own thread, on an io_context that two threads
// of its own serve: enough for what claims to be thread-safe to show that it isn't.
#pragma once

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <future>
#include <thread>
#include <utility>
#include <vector>

#include "common/async.h"

namespace sandkeep {

class AsyncRunner {
 public:
  AsyncRunner() {
    for (int i = 0; i < 2; ++i) threads_.emplace_back([this] { io_.run(); });
  }
  ~AsyncRunner() {
    work_.reset();
    io_.stop();
    for (std::thread& thread : threads_) thread.join();
  }

  boost::asio::any_io_executor executor() { return io_.get_executor(); }

  template <typename T>
  std::future<T> Begin(boost::asio::awaitable<T> call) {
    return boost::asio::co_spawn(io_, std::move(call), boost::asio::use_future);
  }
  template <typename T>
  T Await(boost::asio::awaitable<T> call) {
    return Begin(std::move(call)).get();
  }

 private:
  boost::asio::io_context io_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_ =
      boost::asio::make_work_guard(io_);
  std::vector<std::thread> threads_;
};

}  // namespace sandkeep
