// The base of init's tests: one init a test, and an agent that has said hello.
#pragma once

#include <gtest/gtest.h>

#include <memory>

#include "tests/fakes/init_process.h"
#include "tests/unit/agent/init/test_agent.h"

namespace sandkeep::init {

class InitTest : public testing::Test {
 protected:
  void SetUp() override {
    absl::StatusOr<std::unique_ptr<InitProcess>> init = InitProcess::Start();
    if (absl::IsFailedPrecondition(init.status())) GTEST_SKIP() << init.status().message();
    ASSERT_TRUE(init.ok()) << init.status();
    init_ = *std::move(init);
    agent_ = std::make_unique<TestAgent>(*init_);
  }

  // What every test may end with: after whatever happened, init still serves.
  void ExpectInitServes() { EXPECT_EQ(agent_->RunToEnd("exit 7").exit_code(), 7); }

  std::unique_ptr<InitProcess> init_;
  std::unique_ptr<TestAgent> agent_;
};

}  // namespace sandkeep::init
