// The persistent profile, which the gateway learns from the agent: tools without a label, on one
// sandbox a principal.
#include "common/limits.h"
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
