// Which of gRPC's threads call back, and how soon: asked by calls that fail at once.

#include "agent/client/single_poller.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <set>
#include <thread>

namespace sandkeep {
namespace {

using Clock = std::chrono::steady_clock;

class SinglePollerTest : public testing::Test {
 protected:
  void SetUp() override {
    if (grpc::Version().rfind("1.51.", 0) != 0) GTEST_SKIP() << "gRPC " << grpc::Version();
  }

  // The thread that calls back.
  std::thread::id Called() {
    grpc::ClientContext context;
    const grpc::Slice nothing;
    const grpc::ByteBuffer request(&nothing, 1);
    grpc::ByteBuffer response;
    std::promise<std::thread::id> called;
    auto by = called.get_future();
    stub_.UnaryCall(&context, "/nowhere/nothing", {}, &request, &response,
                    [&](const grpc::Status&) { called.set_value(std::this_thread::get_id()); });
    return by.get();
  }

  std::shared_ptr<const SinglePoller> poller_ = HoldSinglePoller();
  grpc::GenericStub stub_{grpc::CreateChannel("", nullptr)};
};

TEST_F(SinglePollerTest, OneThreadCallsBack) {
  std::set<std::thread::id> threads;
  for (int i = 0; i < 200; ++i) threads.insert(Called());
  EXPECT_EQ(threads.size(), 1U);
}

// It would hold all threads, and nobody would be called back.
TEST_F(SinglePollerTest, WhoHoldsItTwiceHoldsOne) {
  const auto second = HoldSinglePoller();
  EXPECT_EQ(second, poller_);
  Called();
}

TEST_F(SinglePollerTest, AnotherCanBeHadAfterIt) {
  poller_.reset();
  Called();
  poller_ = HoldSinglePoller();
  std::set<std::thread::id> threads;
  for (int i = 0; i < 200; ++i) threads.insert(Called());
  EXPECT_EQ(threads.size(), 1U);
}

// gRPC's threads look away for a tenth of a second after each in which nothing happened.
TEST_F(SinglePollerTest, WhatComesASecondAfterTheLastDoesNotWait) {
  constexpr std::chrono::milliseconds kSilence{1020};
  constexpr int kTries = 3;
  Clock::duration soonest = std::chrono::hours(1);
  for (int i = 0; i < kTries; ++i) {
    Called();
    std::this_thread::sleep_for(kSilence);
    const Clock::time_point begun = Clock::now();
    Called();
    soonest = std::min(soonest, Clock::now() - begun);
  }
  EXPECT_LT(soonest, std::chrono::milliseconds(30));
}

}  // namespace
}  // namespace sandkeep
