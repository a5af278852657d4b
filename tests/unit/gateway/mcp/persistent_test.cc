// The persistent profile, which the gateway learns from the agent: tools without a label, on one
// sandbox a principal.
#include "common/limits.h"
#include "gateway/mcp/tools/profile_words.h"
#include "tests/unit/gateway/mcp/endpoint_test_base.h"

namespace sandkeep::mcp {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

class PersistentTest : public EndpointTestBase {
 protected:
  PersistentTest() {
    agent_.get_info.AnswerAlways([](const auto&) {
      v1::Info info = HostFacts();
      info.set_profile("persistent");
      return info;
    });
  }

  static v1::JobEvent Part(v1::Stream stream, std::int64_t offset, std::string_view data) {
    v1::JobEvent event = Output(offset, data);
    event.mutable_output()->set_stream(stream);
    return event;
  }
};

TEST_F(PersistentTest, ExecuteRunsInTheOnlySandboxWithItsStreamsApart) {
  agent_.start_job.Answer({Started(), Part(v1::STDOUT, 0, "out\n"), Part(v1::STDERR, 0, "err\n"),
                           Part(v1::STDOUT, 4, "more\n"), Exited(3)});
  const std::string text = TextOf(Ask(ModernCall("execute", R"("command":"x","timeout":7)")));
  EXPECT_THAT(text, EndsWith("\nstdout:\nout\nmore\nstderr:\nerr\nexit code: 3"));
  const v1::StartJobRequest request = agent_.start_job.requests().at(0);
  EXPECT_EQ(request.sandbox().label(), "main");
  EXPECT_EQ(request.timeout_ms(), 7000);
  EXPECT_FALSE(request.merge_streams());
}

TEST_F(PersistentTest, TheRestOfBothStreamsComesByWaitCommandAndNothingTwice) {
  auto stream = agent_.start_job.Open();
  stream->Send(Started());
  stream->Send(Part(v1::STDOUT, 0, "one\n"));
  stream->Send(Part(v1::STDERR, 0, "early error\n"));
  // A client that asks by tasks is handed back sooner than one that waits.
  Request request = ModernCall("execute", R"("command":"x")");
  const std::string_view none = R"("io.modelcontextprotocol/clientCapabilities":{})";
  request.body.replace(request.body.find(none), none.size(),
                       R"("io.modelcontextprotocol/clientCapabilities":)"
                       R"({"extensions":{"io.modelcontextprotocol/tasks":{}}})");
  Ask(request);
  const std::string id = JobId::FromBytes(agent_.start_job.requests().at(0).job_id()).value().hex();
  const std::vector<v1::JobEvent> all = {Part(v1::STDOUT, 0, "one\ntwo\n"),
                                         Part(v1::STDERR, 0, "early error\nlate error\n")};
  agent_.watch_job.Answer(all);
  const std::string first =
      TextOf(Ask(ModernCall("wait_command", StrCat(R"("wait_seconds":0,"job":")", id, "\""))));
  EXPECT_THAT(first, HasSubstr("one\ntwo\nstderr:\nearly error\nlate error"));
  agent_.watch_job.Answer({Part(v1::STDOUT, 4, "two\nthree\n"),
                           Part(v1::STDERR, 12, "late error\nlast error\n"), Exited(0)});
  const std::string second =
      TextOf(Ask(ModernCall("wait_command", StrCat(R"("wait_seconds":1,"job":")", id, "\""))));
  EXPECT_THAT(second, EndsWith("\nstdout:\nthree\nstderr:\nlast error\nexit code: 0"));
  EXPECT_EQ(agent_.watch_job.requests().at(1).from_offset(), 8);
}

TEST_F(PersistentTest, APathBelowSandboxIsOneBelowTheWorkspace) {
  agent_.stat_file.Fail(absl::NotFoundError("no such file"));
  Ask(ModernCall("share_file", R"("path":"/sandbox/a/b.txt")"));
  EXPECT_EQ(agent_.stat_file.requests().at(0).path(), "a/b.txt");
  EXPECT_EQ(agent_.stat_file.requests().at(0).sandbox().label(), "main");
}

TEST_F(PersistentTest, WhatACutLeavesOutIsFoundInTheStreamThatItIsOf) {
  const std::string long_text(300'000, 'x');
  std::string lines;
  for (std::size_t at = 0; at < long_text.size(); at += 60) lines += long_text.substr(0, 59) + '\n';
  v1::JobEvent started = Started();
  started.mutable_started()->mutable_sandbox()->set_key("main-abcdefghijklmnop");
  started.mutable_started()->mutable_sandbox()->set_generation("0123456789abcdef");
  agent_.start_job.Answer({started, Part(v1::STDERR, 0, lines), Exited(0)});
  const std::string text = TextOf(Ask(ModernCall("execute", R"("command":"x")")));
  const std::string id = JobId::FromBytes(agent_.start_job.requests().at(0).job_id()).value().hex();
  EXPECT_THAT(text, HasSubstr(StrCat("read_output with job ", id, ", stderr true and offset ")));
  EXPECT_THAT(text, HasSubstr(StrCat("/.jobs/", id, ".stderr)")));
}

TEST_F(PersistentTest, OurWordsNameWhatIsThereAndTheCommandsStayAsTheyAre) {
  v1::JobEvent rebuilt = Started();
  rebuilt.mutable_started()->set_arrival(v1::JobStarted::REBUILT);
  agent_.start_job.Answer({rebuilt, Part(v1::STDOUT, 0, "/workspace run_command\n"), Exited(0)});
  const std::string text = TextOf(Ask(ModernCall("execute", R"("command":"x")")));
  EXPECT_THAT(text, HasSubstr("files below /sandbox are kept"));
  EXPECT_THAT(text, HasSubstr("stdout:\n/workspace run_command\n"));
}

TEST_F(PersistentTest, ALinkLivesForADay) {
  v1::FileInfo info;
  info.set_type(v1::FileInfo::REGULAR);
  info.set_path("a.bin");
  info.set_key("main-abcdefghijklmnop");
  info.set_generation("0123456789abcdef");
  agent_.stat_file.Answer(info);
  EXPECT_THAT(TextOf(Ask(ModernCall("share_file", R"("path":"a.bin")"))),
              HasSubstr("The link works for 24 h"));
}

TEST(ProfileWordsTest, OnlyWordsThatStandAloneAreRenamed) {
  EXPECT_EQ(InOneSandbox("Write it below /workspace, then run_command."),
            "Write it below /sandbox, then execute.");
  EXPECT_EQ(InOneSandbox("There is no file run_command.sh below /workspace: did you mean "
                         "my/workspace or present_files?"),
            "There is no file run_command.sh below /sandbox: did you mean my/workspace or "
            "present_files?");
  EXPECT_EQ(InOneSandbox("cp -- x /workspace/"), "cp -- x /sandbox/");
  EXPECT_EQ(InOneSandbox("You have no sandbox of this label: nothing was removed."),
            "You have no sandbox: nothing was removed.");
}

TEST_F(PersistentTest, NoListingWantsALabel) {
  for (const Reply& reply : {Ask(Legacy("tools/list")), Ask(Modern("tools/list"))}) {
    const json::object listed = ResultOf(reply);
    for (const json::value& tool : listed.at("tools").as_array()) {
      const json::object& schema = tool.at("inputSchema").as_object();
      EXPECT_FALSE(schema.at("properties").as_object().contains("sandbox")) << tool;
    }
    EXPECT_THAT(reply.body, HasSubstr(R"("name":"execute")"));
    EXPECT_THAT(reply.body, testing::Not(HasSubstr("run_command")));
  }
  EXPECT_EQ(ErrorCode(Ask(ModernCall("run_command", ""))), kInvalidParams);
  EXPECT_THAT(Ask(Legacy("initialize")).body, HasSubstr("share_file"));
}

}  // namespace
}  // namespace sandkeep::mcp
