// remove_sandbox: what the model is told of what went and of what stays.

#include "tests/unit/gateway/mcp/endpoint_test_base.h"

namespace sandkeep::mcp {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class RemoveSandboxTest : public EndpointTestBase {
 protected:
  Reply Remove(std::string_view more = "") {
    return Ask(ModernCall("remove_sandbox", StrCat(R"("sandbox":"amber otter 417")", more)));
  }
  static v1::RemoveSandboxResponse Removed(bool container, bool volume, int jobs) {
    v1::RemoveSandboxResponse response;
    response.set_container_removed(container);
    response.set_volume_removed(volume);
    response.set_jobs_ended(jobs);
    return response;
  }
};

TEST_F(RemoveSandboxTest, KeepsTheFilesUnlessTold) {
  agent_.remove_sandbox.Answer(Removed(true, false, 2));
  const std::string text = TextOf(Remove());
  EXPECT_THAT(text, StartsWith("[sandbox amber-otter-417]\nRemoved: "));
  EXPECT_THAT(text, HasSubstr("what was installed is gone"));
  EXPECT_THAT(text, HasSubstr("2 commands that ran in it were ended"));
  EXPECT_THAT(text, HasSubstr("Files below /workspace are kept"));
  const v1::RemoveSandboxRequest request = agent_.remove_sandbox.requests().front();
  EXPECT_EQ(request.sandbox().principal(), "key-one");
  EXPECT_EQ(request.sandbox().label(), "amber otter 417");
  EXPECT_FALSE(request.remove_volume());
}

TEST_F(RemoveSandboxTest, SaysThatTheFilesAreGoneWhenTheyAre) {
  agent_.remove_sandbox.Answer(Removed(true, true, 0));
  const std::string text = TextOf(Remove(R"(,"files":true)"));
  EXPECT_THAT(text, HasSubstr("with all files below /workspace and every link"));
  EXPECT_THAT(text, Not(HasSubstr("are kept")));
  EXPECT_THAT(text, Not(HasSubstr("ran in it")));
  EXPECT_TRUE(agent_.remove_sandbox.requests().front().remove_volume());
}

TEST_F(RemoveSandboxTest, SaysThatOnlyFilesWereLeft) {
  agent_.remove_sandbox.Answer(Removed(false, false, 0));
  EXPECT_THAT(TextOf(Remove()), HasSubstr("only /workspace left of it: its files are kept"));
}

// The answer to the first call may have been lost.
TEST_F(RemoveSandboxTest, WhatIsGoneIsNoErrorTheSecondTime) {
  agent_.remove_sandbox.Fail(absl::NotFoundError("no"));
  const Reply reply = Remove(R"(,"files":true)");
  EXPECT_FALSE(IsToolError(reply));
  EXPECT_THAT(TextOf(reply), HasSubstr("nothing was removed"));
}

TEST_F(RemoveSandboxTest, AFailureIsAnErrorAndNothingIsRemovedByAWrongWord) {
  agent_.remove_sandbox.Fail(absl::UnavailableError("the engine doesn't answer: try again"));
  EXPECT_TRUE(IsToolError(Remove()));
  EXPECT_TRUE(IsToolError(Remove(R"(,"files":"yes")")));
  EXPECT_TRUE(IsToolError(Remove(R"(,"file":true)")));
  EXPECT_EQ(agent_.remove_sandbox.requests().size(), 1u);
}

}  // namespace
}  // namespace sandkeep::mcp
