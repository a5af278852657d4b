#include <csignal>

#include "common/limits.h"
#include "common/utf8.h"
#include "tests/unit/gateway/mcp/endpoint_test_base.h"

namespace sandkeep::mcp {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

constexpr std::string_view kArguments = R"("sandbox":"Amber Otter 417","command":"true")";

class RunCommandTest : public EndpointTestBase {
 protected:
  RunCommandTest() {
    agent_.list_sandboxes.AnswerAlways([](const auto&) {
      v1::ListSandboxesResponse list;
      list.add_sandboxes()->set_label("blue-heron-220");
      list.add_sandboxes()->set_label("grey-seal-731");
      return list;
    });
    agent_.signal_job.AnswerAlways([](const auto&) { return v1::SignalJobResponse(); });
  }

  static v1::ReadOutputResponse JobState(v1::Job::State state, std::int64_t output_bytes) {
    v1::ReadOutputResponse response;
    response.mutable_job()->set_state(state);
    response.mutable_job()->set_output_bytes(output_bytes);
    return response;
  }
};

TEST_F(RunCommandTest, OneCallOfTheAgentBringsStartOutputAndOutcome) {
  agent_.start_job.Answer({Started(), Output(0, "hel"), Output(3, "lo\n"), Exited(0)});
  const Reply reply = Ask(ModernCall("run_command", kArguments));
  EXPECT_EQ(TextOf(reply), "[sandbox amber-otter-417] [new] [exit 0]\nhello\n");
  EXPECT_FALSE(IsToolError(reply));
  const json::object result = ResultOf(reply);
  EXPECT_EQ(result.at("resultType").as_string(), "complete");
  EXPECT_TRUE(result.at("_meta").as_object().contains("io.modelcontextprotocol/serverInfo"));
  EXPECT_FALSE(result.contains("structuredContent"));

  ASSERT_EQ(agent_.start_job.requests().size(), 1u);
  const v1::StartJobRequest request = agent_.start_job.requests()[0];
  EXPECT_EQ(request.sandbox().principal(), "key-one");
  EXPECT_EQ(request.sandbox().label(), "Amber Otter 417");
  EXPECT_EQ(request.command(), "true");
  EXPECT_EQ(request.job_id().size(), 16u);
  EXPECT_TRUE(request.merge_streams());
  EXPECT_GT(request.timeout_ms(), 86'400'000);
  EXPECT_TRUE(agent_.get_info.requests().empty());
}

TEST_F(RunCommandTest, ACommandThatFailsIsAResultAndNoError) {
  agent_.start_job.Answer({Started("x", v1::JobStarted::ARRIVAL_UNSPECIFIED), Exited(42)});
  const Reply reply = Ask(LegacyCall("run_command", kArguments));
  EXPECT_EQ(TextOf(reply), "[sandbox x] [exit 42]");
  EXPECT_FALSE(IsToolError(reply));
}

TEST_F(RunCommandTest, TheTimeoutIsSentInMilliseconds) {
  for (const std::string_view timeout : {"5", "5.0", "\"5\""}) {
    agent_.start_job.Answer({Started(), Exited(0)});
    Ask(LegacyCall("run_command", StrCat(kArguments, R"(,"timeout_seconds":)", timeout)));
    EXPECT_EQ(agent_.start_job.requests().back().timeout_ms(), 5000) << timeout;
  }
  agent_.start_job.Answer({Started(), Exited(0)});
  Ask(LegacyCall("run_command", StrCat(kArguments, R"(,"timeout_seconds":9223372036854775807)")));
  EXPECT_GT(agent_.start_job.requests().back().timeout_ms(), 0);
}

TEST_F(RunCommandTest, WrongArgumentsAreToolErrorsThatSayWhatToGive) {
  const std::pair<std::string, std::string_view> cases[] = {
      {R"("sandbox":"a1")", "give bash commands as command"},
      {R"("sandbox":"a1","command":"  \n")", "give bash commands as command"},
      {R"("sandbox":"a1","command":7)", "Give command as a string."},
      {R"("sandbox":"a1","command":["ls"])", "Give command as a string."},
      {R"("sandbox":"a1","command":"a\u0000b")", "NUL"},
      {R"("sandbox":"a1","command":"ls","timeout_seconds":"soon")", "whole number"},
      {R"("sandbox":"a1","command":"ls","timeout_seconds":1.5)", "whole number"},
      {R"("sandbox":"a1","command":"ls","timeout_seconds":1e300)", "whole number"},
      {R"("sandbox":"a1","command":"ls","timeout_seconds":0)", "at least 1"},
      {R"("sandbox":"a1","command":"ls","timeout_seconds":-5)", "at least 1"},
      {R"("sandbox":"a1","command":"ls","label":"x")",
       "There is no argument 'label' here: give only sandbox, command, timeout_seconds, "
       "wait_seconds, stdin, keep_stdin, background, cwd, env."},
      {R"("sandbox":"a1","command":"ls","wait_seconds":-1)", "0 or more"},
      {R"("sandbox":"a1","command":"ls","background":"maybe")", "true or false"},
      {R"("sandbox":"a1","command":"ls","stdin":7)", "Give stdin as a string."},
      {R"("sandbox":"a1","command":"ls","env":"A=1")", "an object of names and texts"},
      {R"("sandbox":"a1","command":"ls","env":{"A":[]})", "each value of env as a text"},
      {R"("sandbox":"a1","command":"ls","cwd":"a\u0000b")", "another cwd"},
      {StrCat(R"("sandbox":"a1","command":")", std::string(kMaxCommandBytes + 1, 'x'), "\""),
       "more than the 1048576 that there may be"},
  };
  for (const auto& [arguments, words] : cases) {
    const Reply reply = Ask(LegacyCall("run_command", arguments));
    EXPECT_EQ(reply.disposition, Disposition::kOk);
    EXPECT_TRUE(IsToolError(reply)) << arguments.substr(0, 80);
    EXPECT_THAT(TextOf(reply), HasSubstr(words));
  }
  EXPECT_TRUE(agent_.start_job.requests().empty());
}

TEST_F(RunCommandTest, AMissingLabelIsAnsweredWithHowToMakeOneAndTheCallersOwn) {
  const std::string wrong[] = {
      R"("command":"ls")", R"("sandbox":null,"command":"ls")", R"("sandbox":"","command":"ls")",
      R"("sandbox":"!?","command":"ls")",
      StrCat(R"("sandbox":")", std::string(65, 'a'), R"(","command":"ls")")};
  for (const std::string& arguments : wrong) {
    const Reply reply = Ask(LegacyCall("run_command", arguments));
    EXPECT_TRUE(IsToolError(reply));
    EXPECT_THAT(TextOf(reply), HasSubstr("two random words and three random digits"));
    EXPECT_THAT(TextOf(reply), HasSubstr("blue-heron-220, grey-seal-731"));
  }
  EXPECT_EQ(agent_.list_sandboxes.requests()[0].principal(), "key-one");
  EXPECT_EQ(agent_.list_sandboxes.requests()[0].limit(), 5);
}

TEST_F(RunCommandTest, MissingArgumentsCountAsNone) {
  EXPECT_TRUE(IsToolError(Ask(Legacy("tools/call", R"("name":"run_command")"))));
  EXPECT_TRUE(IsToolError(Ask(Legacy("tools/call", R"("name":"run_command","arguments":null)"))));
}

TEST_F(RunCommandTest, AnAgentThatIsNotRunningIsAToolErrorThatSaysSo) {
  for (int i = 0; i < kStartAttempts; ++i) {
    agent_.start_job.Fail(
        absl::UnavailableError("sandkeep-agent isn't answering on /run/x: connect failed"));
  }
  const Reply reply = Ask(ModernCall("run_command", kArguments));
  EXPECT_TRUE(IsToolError(reply));
  EXPECT_THAT(TextOf(reply), StartsWith("[sandbox amber-otter-417] The agent"));
  EXPECT_THAT(TextOf(reply), HasSubstr("try again"));
  EXPECT_THAT(TextOf(reply), Not(HasSubstr("/run/x")));
}

TEST_F(RunCommandTest, AnAgentThatJustRestartsIsAskedAgainForTheSameJob) {
  agent_.start_job.Fail(absl::UnavailableError("restarting"));
  agent_.start_job.Answer({Started(), Exited(0)});
  EXPECT_THAT(TextOf(Ask(ModernCall("run_command", kArguments))), EndsWith("[exit 0]"));
  ASSERT_EQ(agent_.start_job.requests().size(), 2u);
  EXPECT_EQ(agent_.start_job.requests()[0].job_id(), agent_.start_job.requests()[1].job_id());
}

TEST_F(RunCommandTest, ARefusalOfTheAgentIsGivenWithItsRemedy) {
  agent_.start_job.Fail(absl::ResourceExhaustedError("All sandboxes are busy: try in a minute"));
  const Reply reply = Ask(ModernCall("run_command", kArguments));
  EXPECT_TRUE(IsToolError(reply));
  EXPECT_EQ(TextOf(reply), "[sandbox amber-otter-417] All sandboxes are busy: try in a minute.");
}

TEST_F(RunCommandTest, ABrokenStreamGoesOnWhereItBroke) {
  auto stream = agent_.start_job.Open();
  stream->Send(Started());
  stream->Send(Output(0, "before "));
  stream->Fail(absl::UnavailableError("agent restarts"));
  agent_.watch_job.Fail(absl::UnavailableError("not yet"));
  agent_.watch_job.Answer({Output(7, "after"), Exited(0)});
  EXPECT_THAT(TextOf(Ask(ModernCall("run_command", kArguments))), EndsWith("\nbefore after"));
  EXPECT_EQ(agent_.watch_job.requests().back().from_offset(), 7);
  EXPECT_TRUE(agent_.watch_job.requests().back().follow());
  EXPECT_EQ(agent_.start_job.requests().size(), 1u);
}

TEST_F(RunCommandTest, AStreamThatEndsWithoutAnOutcomeIsAskedForAgain) {
  agent_.start_job.Answer({Started(), Output(0, "x")});
  agent_.watch_job.Answer({Exited(3)});
  EXPECT_THAT(TextOf(Ask(ModernCall("run_command", kArguments))), HasSubstr("[exit 3]"));
}

TEST_F(RunCommandTest, AJobThatTheAgentLostIsAnError) {
  agent_.start_job.Answer({Started()});
  agent_.watch_job.Fail(absl::NotFoundError("no such job"));
  EXPECT_TRUE(IsToolError(Ask(ModernCall("run_command", kArguments))));
}

TEST_F(RunCommandTest, AnAnswerThatBeginsWithoutAStartIsAnErrorAndNoCrash) {
  agent_.start_job.Answer({Output(0, "x")});
  EXPECT_TRUE(IsToolError(Ask(ModernCall("run_command", kArguments))));
}

TEST_F(RunCommandTest, DroppedOutputIsCountedAsLeftOut) {
  v1::JobEvent gap;
  gap.mutable_gap()->set_from(5);
  gap.mutable_gap()->set_to(105);
  agent_.start_job.Answer({Started(), Output(0, "head "), gap, Output(105, "tail"), Exited(0)});
  EXPECT_THAT(TextOf(Ask(ModernCall("run_command", kArguments))),
              HasSubstr("bytes 5 to 105 of 109 left out"));
}

TEST_F(RunCommandTest, AGigabyteOfOutputIsNotReadWhole) {
  constexpr std::int64_t kAll = 1'000'000'000;
  auto stream = agent_.start_job.Open();
  stream->Send(Started());
  const std::string piece(65536, 'h');
  for (std::int64_t at = 0; at < 64 * 65536; at += 65536) stream->Send(Output(at, piece));
  agent_.read_output.Answer(JobState(v1::Job::RUNNING, kAll / 2));
  agent_.read_output.AnswerAlways([&](const v1::ReadOutputRequest& request) {
    v1::ReadOutputResponse response = JobState(v1::Job::ENDED, kAll);
    *response.mutable_job()->mutable_outcome() = Exited(0).outcome();
    response.set_offset(request.offset());
    response.set_data(std::string(static_cast<std::size_t>(request.limit()), 't'));
    return response;
  });
  const std::string text = TextOf(Ask(ModernCall("run_command", kArguments)));
  EXPECT_TRUE(stream->abandoned());
  EXPECT_LE(stream->taken(), 20);
  EXPECT_LE(text.size(), settings_.max_output_bytes + 200);
  EXPECT_THAT(text, HasSubstr(" of 1000000000 left out"));
  EXPECT_THAT(text, HasSubstr("[exit 0] [job "));
  EXPECT_THAT(text, HasSubstr("hhhh"));
  EXPECT_THAT(text, EndsWith("tttt"));
}

TEST_F(RunCommandTest, AnAgentThatCannotBeAskedForAPartIsReadToTheEnd) {
  auto stream = agent_.start_job.Open();
  stream->Send(Started());
  const std::string piece(65536, 'h');
  for (std::int64_t at = 0; at < 20 * 65536; at += 65536) stream->Send(Output(at, piece));
  agent_.read_output.Fail(absl::UnimplementedError("ReadOutput"));
  agent_.watch_job.Answer({Output(20 * 65536, "the end"), Exited(0)});
  EXPECT_THAT(TextOf(Ask(ModernCall("run_command", kArguments))), EndsWith("the end"));
  EXPECT_LE(agent_.watch_job.requests()[0].from_offset(), 20 * 65536);
}

TEST_F(RunCommandTest, AnAgentThatRestartsWhileOutputIsSkippedIsAskedAgain) {
  auto stream = agent_.start_job.Open();
  stream->Send(Started());
  const std::string piece(65536, 'h');
  for (std::int64_t at = 0; at < 20 * 65536; at += 65536) stream->Send(Output(at, piece));
  agent_.read_output.Fail(absl::UnavailableError("restarting"));
  v1::ReadOutputResponse ended = JobState(v1::Job::ENDED, 20 * 65536);
  *ended.mutable_job()->mutable_outcome() = Exited(0).outcome();
  agent_.read_output.Answer(ended);
  v1::ReadOutputResponse empty;
  agent_.read_output.Answer(empty);
  EXPECT_THAT(TextOf(Ask(ModernCall("run_command", kArguments))), HasSubstr("[exit 0]"));
}

TEST_F(RunCommandTest, WhatItIsGivenReachesTheCommand) {
  agent_.start_job.Answer({Started(), Exited(0)});
  Ask(LegacyCall("run_command",
                 StrCat(kArguments, R"(,"stdin":"a\nb\u0000","keep_stdin":"true","cwd":"src",)"
                                    R"("env":{"A":"1","B":2,"C":true})")));
  const v1::StartJobRequest request = agent_.start_job.requests()[0];
  EXPECT_EQ(request.stdin(), std::string("a\nb\0", 4));
  EXPECT_TRUE(request.keep_stdin());
  EXPECT_EQ(request.cwd(), "/workspace/src");
  EXPECT_EQ(request.env().at("A"), "1");
  EXPECT_EQ(request.env().at("B"), "2");
  EXPECT_EQ(request.env().at("C"), "true");
}

// ---- Cancellation ----

TEST_F(RunCommandTest, AModernClientThatClosesItsStreamEndsTheJob) {
  auto stream = agent_.start_job.Open();
  stream->Send(Started());
  const auto call = Start(ModernCall("run_command", kArguments));
  EXPECT_FALSE(call->done());
  call->Close();
  Pump();
  EXPECT_TRUE(call->done());
  EXPECT_TRUE(stream->abandoned());
  ASSERT_EQ(agent_.signal_job.requests().size(), 1u);
  const v1::SignalJobRequest signal = agent_.signal_job.requests()[0];
  EXPECT_EQ(signal.job_id(), agent_.start_job.requests()[0].job_id());
  EXPECT_EQ(signal.signal(), SIGTERM);
  EXPECT_EQ(signal.grace_ms(), kDisconnectGrace.count());
}

TEST_F(RunCommandTest, AStreamThatClosesBeforeTheJobStartedEndsItOnceItHas) {
  auto stream = agent_.start_job.Open();
  const auto call = Start(ModernCall("run_command", kArguments));
  call->Close();
  Pump();
  EXPECT_FALSE(call->done());
  EXPECT_TRUE(agent_.signal_job.requests().empty());
  stream->Send(Started());
  Pump();
  EXPECT_TRUE(call->done());
  EXPECT_EQ(agent_.signal_job.requests().size(), 1u);
}

TEST_F(RunCommandTest, AStreamThatClosesBeforeTheJobWasRefusedEndsNothing) {
  auto stream = agent_.start_job.Open();
  const auto call = Start(ModernCall("run_command", kArguments));
  call->Close();
  stream->Fail(absl::ResourceExhaustedError("busy"));
  Pump();
  EXPECT_TRUE(call->done());
  EXPECT_TRUE(agent_.signal_job.requests().empty());
}

TEST_F(RunCommandTest, TheSettingLetsAJobRunOnAfterADisconnect) {
  settings_.cancel_on_disconnect = false;
  auto stream = agent_.start_job.Open();
  stream->Send(Started());
  const auto call = Start(ModernCall("run_command", kArguments));
  call->Close();
  Pump();
  EXPECT_TRUE(call->done());
  EXPECT_TRUE(agent_.signal_job.requests().empty());
}

TEST_F(RunCommandTest, AnOlderClientsClosedStreamIsNoCancel) {
  auto stream = agent_.start_job.Open();
  stream->Send(Started());
  const auto call = Start(LegacyCall("run_command", kArguments));
  call->Close();
  Pump();
  EXPECT_TRUE(call->done());
  EXPECT_TRUE(stream->abandoned());
  EXPECT_TRUE(agent_.signal_job.requests().empty());
}

TEST_F(RunCommandTest, AnOlderClientCancelsByTheRequestsId) {
  for (const std::string_view id : {"7", "\"seven\""}) {
    auto stream = agent_.start_job.Open();
    stream->Send(Started());
    const auto call = Start(LegacyCall("run_command", kArguments, id));
    const Reply accepted = Ask(
        Body(StrCat(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":)",
                    id, "}}")));
    EXPECT_EQ(accepted.disposition, Disposition::kAccepted);
    ASSERT_FALSE(agent_.signal_job.requests().empty());
    const v1::SignalJobRequest signal = agent_.signal_job.requests().back();
    EXPECT_EQ(signal.grace_ms(), kCancelGrace.count());
    EXPECT_EQ(signal.job_id(), agent_.start_job.requests().back().job_id());
    EXPECT_FALSE(call->done());
    stream->Send(Ended(v1::Outcome::CANCELLED, 0));
    Pump();
    EXPECT_THAT(TextOf(call->reply()), HasSubstr("[cause cancelled]"));
  }
}

TEST_F(RunCommandTest, ACancelThatComesBeforeTheJobStartedIsNotLost) {
  agent_.signal_job.Fail(absl::NotFoundError("no such job"));
  auto stream = agent_.start_job.Open();
  const auto call = Start(LegacyCall("run_command", kArguments, "7"));
  Ask(Legacy("notifications/cancelled", R"("requestId":7)", "99"));
  Request notification =
      Body(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}})");
  Ask(notification);
  EXPECT_EQ(agent_.signal_job.requests().size(), 1u);
  stream->Send(Started());
  Pump();
  EXPECT_EQ(agent_.signal_job.requests().size(), 2u);
  stream->Send(Ended(v1::Outcome::CANCELLED, 0));
  Pump();
  EXPECT_TRUE(call->done());
}

TEST_F(RunCommandTest, NobodyCancelsAnothersCallNorOneOfTwoThatShareAnId) {
  auto stream = agent_.start_job.Open();
  stream->Send(Started());
  const auto call = Start(LegacyCall("run_command", kArguments, "0"));
  Request cancel =
      Body(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":0}})");
  Request foreign = cancel;
  foreign.caller.principal = *PrincipalId::Parse("key-two");
  Ask(foreign);
  EXPECT_TRUE(agent_.signal_job.requests().empty());
  auto second = agent_.start_job.Open();
  second->Send(Started());
  const auto other = Start(LegacyCall("run_command", kArguments, "0"));
  Ask(cancel);
  EXPECT_TRUE(agent_.signal_job.requests().empty());
  second->Send(Exited(0));
  Pump();
  EXPECT_TRUE(other->done());
  Ask(cancel);
  EXPECT_EQ(agent_.signal_job.requests().size(), 1u);
  stream->Send(Exited(0));
  Pump();
  EXPECT_TRUE(call->done());
  Ask(cancel);
  EXPECT_EQ(agent_.signal_job.requests().size(), 1u);
}

TEST_F(RunCommandTest, ASessionTellsTwoCallsOfTheSameIdApart) {
  auto cancelled_in = [](std::string_view session) {
    Request cancel =
        Body(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":0}})");
    cancel.session = std::string(session);
    return cancel;
  };
  auto first = agent_.start_job.Open();
  first->Send(Started());
  Request call = LegacyCall("run_command", kArguments, "0");
  call.session = "first";
  const auto one = Start(call);
  auto second = agent_.start_job.Open();
  second->Send(Started());
  call.session = "second";
  const auto other = Start(call);
  Ask(cancelled_in("third"));
  Ask(cancelled_in(""));
  EXPECT_TRUE(agent_.signal_job.requests().empty());
  Ask(cancelled_in("second"));
  ASSERT_EQ(agent_.signal_job.requests().size(), 1u);
  EXPECT_EQ(agent_.signal_job.requests().back().job_id(),
            agent_.start_job.requests().back().job_id());
  first->Send(Exited(0));
  second->Send(Ended(v1::Outcome::CANCELLED, 0));
  Pump();
  EXPECT_TRUE(one->done());
  EXPECT_TRUE(other->done());
}

TEST_F(RunCommandTest, ResultsAreValidUtf8WhateverWasPrinted) {
  agent_.start_job.Answer({Started(), Output(0, "un caf\xE9 est bon, deux caf\xE9s"), Exited(0)});
  const Reply reply = Ask(ModernCall("run_command", kArguments));
  EXPECT_TRUE(IsUtf8(reply.body));
  EXPECT_THAT(TextOf(reply), EndsWith("\nun caf\xEF\xBF\xBD est bon, deux caf\xEF\xBF\xBDs"));
}

}  // namespace
}  // namespace sandkeep::mcp
