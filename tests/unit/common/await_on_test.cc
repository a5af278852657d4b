// A coroutine on another executor: its result, its cancellation, and the cancellation that comes
// when it is over.

#include "common/await_on.h"

#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/thread_pool.hpp>
#include <chrono>
#include <string>
#include <thread>

namespace sandkeep {
namespace {

namespace asio = boost::asio;
using std::chrono::steady_clock;

// So many turns on its own executor, then the word.
asio::awaitable<std::string> AfterTurns(int turns) {
  const auto executor = co_await asio::this_coro::executor;
  while (turns-- > 0) co_await asio::post(executor, asio::as_tuple(asio::use_awaitable));
  co_return "done";
}

asio::awaitable<std::string> UntilCancelled() {
  asio::steady_timer never(co_await asio::this_coro::executor, steady_clock::time_point::max());
  co_await never.async_wait(asio::as_tuple(asio::use_awaitable));
  co_return "cancelled";
}

// Two waits: the second takes the place of the first.
asio::awaitable<std::string> Twice(asio::any_io_executor where, int turns) {
  const auto here = co_await asio::this_coro::executor;
  auto first = AfterTurns(turns);
  co_await AwaitOn(where, std::move(first));
  auto second = AfterTurns(1);
  std::string said = co_await AwaitOn(where, std::move(second));
  EXPECT_EQ(co_await asio::this_coro::executor, here);
  co_return said;
}

TEST(AwaitOn, ResumesTheCallerWithTheResultOrTheException) {
  asio::io_context io;
  std::string said;
  asio::co_spawn(io, Twice(asio::make_strand(io), 3),
                 [&](std::exception_ptr, std::string word) { said = std::move(word); });
  io.run();
  EXPECT_EQ(said, "done");

  struct Thrown {};
  const auto throwing = []() -> asio::awaitable<int> {
    throw Thrown();
    co_return 1;
  };
  bool caught = false;
  asio::co_spawn(io, AwaitOn(asio::make_strand(io), throwing()),
                 [&](const std::exception_ptr& error, int) { caught = error != nullptr; });
  io.restart();
  io.run();
  EXPECT_TRUE(caught);
}

TEST(AwaitOn, HandsACancellationOver) {
  asio::io_context io;
  asio::thread_pool pool(1);
  asio::cancellation_signal cancel;
  std::string said;
  asio::co_spawn(
      io, AwaitOn(pool.get_executor(), UntilCancelled()),
      asio::bind_cancellation_slot(
          cancel.slot(), [&](std::exception_ptr, std::string word) { said = std::move(word); }));
  io.poll();
  EXPECT_EQ(said, "");
  cancel.emit(asio::cancellation_type::terminal);
  io.run();
  EXPECT_EQ(said, "cancelled");
}

// The agent died of it: a client that left just as its job had something to say.
TEST(AwaitOn, ACancellationMayComeAtAnyMoment) {
  for (int turns = 0; turns < 4; ++turns) {
    // From the first step on: the coroutine that waits has begun, as those that are cancelled have.
    for (int moment = 1; moment < 40; ++moment) {
      asio::io_context io;
      asio::cancellation_signal cancel;
      int ended = 0;
      asio::co_spawn(
          io, Twice(asio::make_strand(io), turns),
          asio::bind_cancellation_slot(
              cancel.slot(), [&](const std::exception_ptr&, const std::string&) { ++ended; }));
      for (int i = 0; i < moment; ++i) io.poll_one();
      cancel.emit(asio::cancellation_type::terminal);
      io.run();
      ASSERT_EQ(ended, 1) << turns << " turns, cancelled after " << moment;
    }
  }
}

TEST(AwaitOn, ACancellationFromAnotherThreadRacesWithTheEnd) {
  asio::thread_pool pool(2);
  asio::io_context io;
  for (int i = 0; i < 2000; ++i) {
    asio::cancellation_signal cancel;
    bool ended = false;
    asio::co_spawn(
        io, Twice(asio::make_strand(pool), i % 7),
        asio::bind_cancellation_slot(
            cancel.slot(), [&](const std::exception_ptr&, const std::string&) { ended = true; }));
    // Or nothing is done since the last run ended, and what is cancelled hasn't begun.
    io.restart();
    for (int step = 0; step <= i % 5; ++step) io.poll_one();
    cancel.emit(asio::cancellation_type::terminal);
    io.restart();
    io.run();
    ASSERT_TRUE(ended);
  }
}

}  // namespace
}  // namespace sandkeep
