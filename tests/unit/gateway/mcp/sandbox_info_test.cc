#include "common/limits.h"
#include "tests/unit/gateway/mcp/endpoint_test_base.h"

namespace sandkeep::mcp {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class SandboxInfoTest : public EndpointTestBase {
 protected:
  v1::Sandbox Otter() {
    v1::Sandbox sandbox;
    sandbox.set_label("amber-otter-417");
    sandbox.set_key("amber-otter-417-abcdefghijklmnop");
    sandbox.set_state(v1::Sandbox::RUNNING);
    sandbox.set_running_jobs(1);
    sandbox.set_last_used_ms(absl::ToUnixMillis(clock_.Now() - absl::Hours(5)));
    sandbox.set_workspace_bytes(12'300'000);
    return sandbox;
  }
};

TEST_F(SandboxInfoTest, ListsTheCallersSandboxesAndTheLimitsWithoutALabel) {
  v1::ListSandboxesResponse list;
  *list.add_sandboxes() = Otter();
  list.set_total(7);
  agent_.list_sandboxes.Answer(list);
  const std::string text = TextOf(Ask(LegacyCall("sandbox_info", "")));
  EXPECT_EQ(agent_.list_sandboxes.requests()[0].principal(), "key-one");
  EXPECT_THAT(text, StartsWith("Your sandboxes, 1 of 7, the last used first:\n"
                               "- amber-otter-417: running, 1 command running, last used 5 h ago, "
                               "12.3 MB in /workspace"));
  EXPECT_THAT(text, HasSubstr("1.1 GB of memory, 2 CPUs, 256 processes; network: the internet"));
  EXPECT_THAT(text, HasSubstr("A command ends after 900 s"));
  EXPECT_THAT(text, HasSubstr("agent 0.1.0, podman 4.3.1"));
}

TEST_F(SandboxInfoTest, SaysNothingOfFreezingWhereNothingIsFrozen) {
  v1::Info info = HostFacts();
  info.mutable_limits()->clear_idle_ms();
  agent_.get_info.AnswerAlways([info](const auto&) { return info; });
  agent_.list_sandboxes.Answer({});
  const std::string text = TextOf(Ask(LegacyCall("sandbox_info", "")));
  EXPECT_THAT(text, HasSubstr("A sandbox stays as it is"));
  EXPECT_THAT(text, Not(HasSubstr("frozen")));
}

TEST_F(SandboxInfoTest, SaysWhatTheHostCannotDo) {
  v1::Info info = HostFacts();
  info.add_problems("the image is missing: run build.sh");
  v1::Capability* capability = info.add_capabilities();
  capability->set_name("cgroup_v2");
  capability->set_detail("limits don't land");
  agent_.get_info.AnswerAlways([info](const auto&) { return info; });
  agent_.list_sandboxes.Answer({});
  const std::string text = TextOf(Ask(LegacyCall("sandbox_info", "")));
  EXPECT_THAT(text, HasSubstr("You have no sandbox yet."));
  EXPECT_THAT(text, HasSubstr("No sandbox can start now: the image is missing: run build.sh"));
  EXPECT_THAT(text, HasSubstr("Not on this host: cgroup_v2: limits don't land"));
}

TEST_F(SandboxInfoTest, ALabelShowsThatSandbox) {
  agent_.get_sandbox.Answer(Otter());
  agent_.list_jobs.Answer({});
  EXPECT_THAT(TextOf(Ask(LegacyCall("sandbox_info", R"("sandbox":"Amber Otter 417")"))),
              StartsWith("[sandbox amber-otter-417]\n- amber-otter-417: running"));
  agent_.get_sandbox.Fail(absl::NotFoundError("no"));
  const Reply none = Ask(LegacyCall("sandbox_info", R"("sandbox":"nothing")"));
  EXPECT_TRUE(IsToolError(none));
  EXPECT_THAT(TextOf(none), HasSubstr("You have no sandbox of this label"));
}

TEST_F(SandboxInfoTest, ASandboxHasItsLastCommandsSoThatALostJobIsFoundAgain) {
  agent_.get_sandbox.Answer(Otter());
  v1::ListJobsResponse list;
  v1::Job* running = list.add_jobs();
  running->set_job_id(std::string(16, '\x0f'));
  running->set_state(v1::Job::RUNNING);
  running->set_command_head("sleep 1\necho x");
  running->set_started_ms(absl::ToUnixMillis(clock_.Now() - absl::Minutes(4)));
  v1::Job* ended = list.add_jobs();
  ended->set_job_id(std::string(16, '\x01'));
  ended->set_state(v1::Job::ENDED);
  ended->mutable_outcome()->set_ending(v1::Outcome::TIMED_OUT);
  ended->set_output_bytes(12'345);
  ended->set_left_behind(2);
  ended->set_command_head("make");
  ended->set_started_ms(absl::ToUnixMillis(clock_.Now() - absl::Hours(3)));
  agent_.list_jobs.Answer(list);
  const std::string text =
      TextOf(Ask(LegacyCall("sandbox_info", R"("sandbox":"amber-otter-417")")));
  EXPECT_THAT(text,
              HasSubstr("Its last commands, the newest first:\n"
                        "- job 0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f: running, started 4 min ago, "
                        "printed 0 bytes: sleep 1 echo x\n"
                        "- job 01010101010101010101010101010101: exit 124, cause timeout, left 2 "
                        "running, started 3 h ago, printed 12.3 kB: make\n"));
  EXPECT_EQ(agent_.list_jobs.requests()[0].limit(), 20);
  EXPECT_EQ(agent_.list_jobs.requests()[0].sandbox().label(), "amber-otter-417");
}

TEST_F(SandboxInfoTest, HeadersAreShownByAnAllowlist) {
  agent_.list_sandboxes.Answer({});
  Request request = LegacyCall("sandbox_info", "");
  request.headers = {{"User-Agent", "client/1"},
                     {"Accept", "text/event-stream"},
                     {"Authorization", "Bearer hunter2"},
                     {"Cookie", "hunter2"},
                     {"X-Api-Key", "hunter2"},
                     {"Mcp-Session-Id", "hunter2"},
                     {"X-Forwarded-For", "hunter2"},
                     {"MCP-Protocol-Version", "2025-11-25"},
                     {"Host", "box\r\nX: y"}};
  const std::string text = TextOf(Ask(request));
  EXPECT_THAT(text, HasSubstr("user-agent: client/1\naccept: text/event-stream\n"
                              "authorization: <redacted>\ncookie: <redacted>\n"
                              "x-api-key: <redacted>\nmcp-session-id: <redacted>\n"
                              "x-forwarded-for: <redacted>\nmcp-protocol-version: 2025-11-25\n"
                              "host: box  X: y\n"));
  EXPECT_THAT(text, Not(HasSubstr("hunter2")));
}

TEST_F(SandboxInfoTest, HeadersAreBounded) {
  agent_.list_sandboxes.Answer({});
  Request request = LegacyCall("sandbox_info", "");
  for (int i = 0; i < 500; ++i) request.headers.emplace_back("accept", std::string(5000, 'x'));
  const std::string text = TextOf(Ask(request));
  EXPECT_LT(text.size(), kMaxShownHeaders * (kMaxShownHeaderBytes + 20) + 2000);
  EXPECT_THAT(text, HasSubstr("436 more"));
}

TEST_F(SandboxInfoTest, TheAgentNotRunningIsAToolError) {
  agent_.get_info.AnswerAlways([](const auto&) {
    return absl::UnavailableError("sandkeep-agent isn't answering on /run/x: no");
  });
  const Reply reply = Ask(LegacyCall("sandbox_info", ""));
  EXPECT_TRUE(IsToolError(reply));
  EXPECT_THAT(TextOf(reply), HasSubstr("isn't running or isn't answering"));
}

}  // namespace
}  // namespace sandkeep::mcp
