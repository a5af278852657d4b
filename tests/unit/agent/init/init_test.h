// The base of init's tests: one init a test, and an agent that has said hello.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>

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

  // A program of tests/testcases, where the sandbox's root can run it.
  std::string Testcase(const std::string& name) const {
    const std::filesystem::path to = init_->workspace() / name;
    std::filesystem::copy_file(std::filesystem::path(SANDKEEP_TESTCASES) / name, to,
                               std::filesystem::copy_options::skip_existing);
    return to.string();
  }

  // What every test may end with: after whatever happened, init still serves.
  void ExpectInitServes() { EXPECT_EQ(agent_->RunToEnd("exit 7").exit_code(), 7); }

  std::unique_ptr<InitProcess> init_;
  std::unique_ptr<TestAgent> agent_;
};

}  // namespace sandkeep::init
