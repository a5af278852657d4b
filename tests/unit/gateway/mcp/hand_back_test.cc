// run_command's other deadline: a command that outlasts the waiting, and what is heard meanwhile.
#include "common/limits.h"
#include "tests/unit/gateway/mcp/endpoint_test_base.h"

namespace sandkeep::mcp {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

constexpr std::string_view kArguments = R"("sandbox":"Amber Otter 417","command":"true")";

class HandBackTest : public EndpointTestBase {};

TEST_F(HandBackTest, ACommandThatOutlastsTheWaitingIsHandedBack) {
  v1::JobEvent started = Started();
  started.mutable_started()->set_timeout_lowered_to_ms(900'000);
  started.mutable_started()->mutable_job()->set_started_ms(absl::ToUnixMillis(clock_.Now()));
  auto stream = agent_.start_job.Open();
  stream->Send(started);
  stream->Send(Output(0, "so far\n"));
  const std::string text =
      TextOf(Ask(ModernCall("run_command", StrCat(kArguments, R"(,"wait_seconds":0)"))));
  EXPECT_THAT(text, StartsWith("[sandbox amber-otter-417] [new] [running] [job "));
  EXPECT_THAT(text, HasSubstr("] [next offset 7] [ends in 900 s]\nnote: it runs on: wait_command"));
  EXPECT_THAT(text, EndsWith("\nso far\n"));
  Pump();
  EXPECT_TRUE(stream->abandoned());
  EXPECT_TRUE(agent_.signal_job.requests().empty());
}

TEST_F(HandBackTest, ABackgroundCommandHasNoTimeoutAndIsHandedBackAfterASecond) {
  v1::Info host = HostFacts();
  host.mutable_limits()->set_background_ms(43'200'000);
  agent_.get_info.AnswerAlways([host](const auto&) { return host; });
  auto stream = agent_.start_job.Open();
  stream->Send(Started());
  const auto began = std::chrono::steady_clock::now();
  const std::string text =
      TextOf(Ask(ModernCall("run_command", StrCat(kArguments, R"(,"background":true)"))));
  EXPECT_GE(std::chrono::steady_clock::now() - began, kBackgroundWait);
  EXPECT_THAT(text, HasSubstr("[running] [job "));
  EXPECT_THAT(text, HasSubstr("[ends in 43200 s]"));
  EXPECT_EQ(agent_.start_job.requests()[0].timeout_ms(), 0);
}

TEST_F(HandBackTest, ABackgroundCommandThatFailsAtOnceIsSeenToFail) {
  agent_.start_job.Answer({Started(), Output(0, "no such file\n"), Exited(2)});
  EXPECT_EQ(TextOf(Ask(ModernCall("run_command", StrCat(kArguments, R"(,"background":true)")))),
            "[sandbox amber-otter-417] [new] [exit 2]\nno such file\n");
}

TEST_F(HandBackTest, AWaitOverTheLongestIsLoweredAndSaysSo) {
  agent_.start_job.Answer({Started(), Exited(0)});
  EXPECT_THAT(
      TextOf(Ask(ModernCall("run_command", StrCat(kArguments, R"(,"wait_seconds":100000)")))),
      HasSubstr("note: wait_seconds was lowered to 280"));
}

TEST_F(HandBackTest, AJobThatWasHandedBackIsNotEndedByADisconnect) {
  auto stream = agent_.start_job.Open();
  stream->Send(Started());
  const auto call = Start(ModernCall("run_command", StrCat(kArguments, R"(,"wait_seconds":0)")));
  Finish(*call);
  call->Close();
  Pump();
  EXPECT_TRUE(agent_.signal_job.requests().empty());
}

TEST_F(HandBackTest, AHandedBackCommandIsNotCancelledByItsOldRequestId) {
  auto stream = agent_.start_job.Open();
  stream->Send(Started());
  Ask(LegacyCall("run_command", StrCat(kArguments, R"(,"wait_seconds":0)"), "5"));
  Ask(Body(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}})"));
  EXPECT_TRUE(agent_.signal_job.requests().empty());
}

// ---- Progress ----

TEST_F(HandBackTest, AQuickCommandHasNoProgress) {
  agent_.start_job.Answer({Started(), Output(0, "x\n"), Exited(0)});
  Ask(Legacy("tools/call", StrCat(R"("name":"run_command","arguments":{)", kArguments,
                                  R"(},"_meta":{"progressToken":"t"})")));
  EXPECT_TRUE(events_.events.empty());
}

TEST_F(HandBackTest, ProgressIsTheLastLineAtMostFourTimesASecondAndAlwaysMore) {
  for (const std::string_view token : {"\"tok\"", "17"}) {
    events_.events.clear();
    auto stream = agent_.start_job.Open();
    stream->Send(Started());
    const auto began = std::chrono::steady_clock::now();
    const auto call =
        Start(Legacy("tools/call", StrCat(R"("name":"run_command","arguments":{)", kArguments,
                                          R"(},"_meta":{"progressToken":)", token, "}")));
    for (std::size_t count = 0; count < 2; ++count) {
      stream->Send(Output(static_cast<std::int64_t>(count) * 12, "step\n1%\r2%\n\n"));
      io_.restart();
      while (events_.events.size() <= count && io_.run_one() > 0) {
      }
    }
    const auto took = std::chrono::steady_clock::now() - began;
    EXPECT_GE(took, 2 * kProgressInterval);
    stream->Send(Exited(0));
    Finish(*call);
    const std::size_t count = events_.events.size();
    Pump();
    EXPECT_EQ(events_.events.size(), count);
    std::int64_t last = 0;
    for (const std::string& event : events_.events) {
      const json::object message = json::parse(event).as_object();
      EXPECT_EQ(message.at("method").as_string(), "notifications/progress");
      EXPECT_EQ(json::serialize(message.at("params").at("progressToken")), token);
      EXPECT_GT(message.at("params").at("progress").as_int64(), last);
      last = message.at("params").at("progress").as_int64();
      EXPECT_EQ(message.at("params").at("message").as_string(), "2%");
    }
  }
}

TEST_F(HandBackTest, NobodyWhoDidNotAskGetsProgress) {
  for (const std::string_view meta : {R"({})", R"({"progressToken":null})",
                                      R"({"progressToken":1.5})", R"({"progressToken":{}})"}) {
    auto stream = agent_.start_job.Open();
    stream->Send(Started());
    stream->Send(Output(0, "x\n"));
    Ask(Legacy("tools/call", StrCat(R"("name":"run_command","arguments":{)", kArguments,
                                    R"(,"wait_seconds":0},"_meta":)", meta)));
    EXPECT_TRUE(events_.events.empty());
  }
}

}  // namespace
}  // namespace sandkeep::mcp
