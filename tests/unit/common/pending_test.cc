#include "common/pending.h"

#include <gtest/gtest.h>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <future>
#include <memory>
#include <string>
#include <thread>

namespace sandkeep {
namespace {

namespace asio = boost::asio;

class PendingTest : public testing::Test {
 protected:
  using Text = std::shared_ptr<Pending<std::string>>;

  // The value that the coroutine resumed with, once the context has run out of work.
  std::future<std::string> Start(const Text& pending) {
    auto finished = [this](std::exception_ptr, std::string value) { result_.set_value(value); };
    asio::co_spawn(io_, pending->Take("cancelled"),
                   asio::bind_cancellation_slot(signal_.slot(), std::move(finished)));
    return result_.get_future();
  }

  asio::io_context io_;
  asio::cancellation_signal signal_;
  std::promise<std::string> result_;
  const Text pending_ = std::make_shared<Pending<std::string>>();
};

TEST_F(PendingTest, AValueThatCameFirstIsTaken) {
  pending_->Deliver("early");
  auto result = Start(pending_);
  io_.run();
  EXPECT_EQ(result.get(), "early");
}

TEST_F(PendingTest, TheContextStaysBusyUntilAnotherThreadDelivers) {
  auto result = Start(pending_);
  std::thread runner([this] { io_.run(); });
  while (!pending_->waited_for()) std::this_thread::yield();
  pending_->Deliver("late");
  runner.join();
  EXPECT_EQ(result.get(), "late");
}

TEST_F(PendingTest, CancellingResumesAtOnceAndKeepsWhatComesForTheNext) {
  auto result = Start(pending_);
  asio::post(io_, [this] { signal_.emit(asio::cancellation_type::terminal); });
  io_.run();
  EXPECT_EQ(result.get(), "cancelled");
  pending_->Deliver("kept");
  io_.restart();
  auto next = asio::co_spawn(io_, pending_->Take("cancelled"), asio::use_future);
  io_.run();
  EXPECT_EQ(next.get(), "kept");
}

TEST_F(PendingTest, ASureTakeOutlastsItsCancellation) {
  auto finished = [this](std::exception_ptr, std::string value) { result_.set_value(value); };
  asio::co_spawn(io_, pending_->TakeSurely(),
                 asio::bind_cancellation_slot(signal_.slot(), std::move(finished)));
  asio::post(io_, [this] {
    signal_.emit(asio::cancellation_type::terminal);
    asio::post(io_, [this] { pending_->Deliver("delivered"); });
  });
  io_.run();
  EXPECT_EQ(result_.get_future().get(), "delivered");
}

TEST_F(PendingTest, AWaiterThatIsDestroyedWithItsContextLeavesNothing) {
  const auto value = std::make_shared<int>(7);
  {
    asio::io_context io;
    auto pending = std::make_shared<Pending<std::shared_ptr<int>>>();
    auto finished = [value](std::exception_ptr, std::shared_ptr<int>) {};
    asio::co_spawn(io, pending->Take(nullptr), std::move(finished));
    io.poll();
  }
  EXPECT_EQ(value.use_count(), 1);
}

}  // namespace
}  // namespace sandkeep
