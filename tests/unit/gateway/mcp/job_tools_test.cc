// wait_command, read_output, send_input and stop_command: jobs that were handed back.
#include <csignal>

#include "common/limits.h"
#include "tests/unit/gateway/mcp/endpoint_test_base.h"

namespace sandkeep::mcp {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr std::string_view kSandbox = R"("sandbox":"amber-otter-417")";
constexpr std::string_view kJob =
    R"("sandbox":"amber-otter-417","job":"0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f")";
const std::string kJobId(16, '\x0f');
constexpr std::string_view kFacts =
    "[sandbox amber-otter-417] [running] [job 0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f]";

class JobToolsTest : public EndpointTestBase {
 protected:
  JobToolsTest() {
    agent_.list_sandboxes.AnswerAlways([](const auto&) { return v1::ListSandboxesResponse(); });
    agent_.list_jobs.AnswerAlways([](const auto&) {
      v1::ListJobsResponse list;
      list.add_jobs()->set_job_id(kJobId);
      return list;
    });
    agent_.get_sandbox.AnswerAlways([](const auto&) {
      v1::Sandbox sandbox;
      sandbox.set_key("amber-otter-417-abcdefghijklmnop");
      sandbox.set_generation("0123456789abcdef");
      return sandbox;
    });
  }

  std::string Text(std::string_view tool, std::string_view arguments) {
    const Reply reply = Ask(LegacyCall(tool, arguments));
    EXPECT_FALSE(IsToolError(reply)) << reply.body;
    return TextOf(reply);
  }
  std::string Refusal(std::string_view tool, std::string_view arguments) {
    const Reply reply = Ask(LegacyCall(tool, arguments));
    EXPECT_TRUE(IsToolError(reply)) << reply.body;
    return TextOf(reply);
  }

  // Of all that a job printed, the part that is asked for.
  void Print(std::string all, v1::Job::State state) {
    agent_.read_output.AnswerAlways(
        [all = std::move(all),
         state](const v1::ReadOutputRequest& request) -> absl::StatusOr<v1::ReadOutputResponse> {
          const auto size = static_cast<std::int64_t>(all.size());
          if (request.offset() > size) return absl::OutOfRangeError("past the end");
          v1::ReadOutputResponse response;
          response.set_offset(request.offset());
          response.set_data(all.substr(static_cast<std::size_t>(request.offset()),
                                       static_cast<std::size_t>(request.limit())));
          response.mutable_job()->set_state(state);
          response.mutable_job()->set_output_bytes(size);
          response.mutable_job()->mutable_outcome()->set_ending(v1::Outcome::EXITED);
          return response;
        });
  }
};

// ---- wait_command ----

TEST_F(JobToolsTest, WaitingGoesOnWhereTheLastResultStopped) {
  auto started = agent_.start_job.Open();
  started->Send(Started());
  started->Send(Output(0, "one\n"));
  const std::string first =
      Text("run_command", R"("sandbox":"amber-otter-417","command":"x","wait_seconds":0)");
  const std::string id = first.substr(first.find("[job ") + 5, 32);
  agent_.watch_job.Answer({Output(4, "two\n")});
  EXPECT_THAT(Text("wait_command", StrCat(kSandbox, R"(,"wait_seconds":0,"job":")", id, "\"")),
              EndsWith("\ntwo\n"));
  EXPECT_EQ(agent_.watch_job.requests()[0].from_offset(), 4);
  EXPECT_FALSE(agent_.watch_job.requests()[0].follow());
  agent_.watch_job.Answer({Output(8, "three\n"), Exited(3)});
  EXPECT_EQ(Text("wait_command", StrCat(kSandbox, R"(,"job":")", id, "\"")),
            "[sandbox amber-otter-417] [exit 3]\nthree\n");
  EXPECT_EQ(agent_.watch_job.requests()[1].from_offset(), 8);
  EXPECT_TRUE(agent_.watch_job.requests()[1].follow());
}

TEST_F(JobToolsTest, TheDeadlineOfARememberedJobIsSaidAgain) {
  v1::JobEvent started = Started();
  started.mutable_started()->set_timeout_lowered_to_ms(900'000);
  auto stream = agent_.start_job.Open();
  stream->Send(started);
  const std::string first =
      Text("run_command", R"("sandbox":"amber-otter-417","command":"x","wait_seconds":0)");
  const std::string id = first.substr(first.find("[job ") + 5, 32);
  clock_.Advance(absl::Seconds(100));
  agent_.watch_job.Answer({});
  EXPECT_THAT(Text("wait_command", StrCat(kSandbox, R"(,"wait_seconds":0,"job":")", id, "\"")),
              HasSubstr("[ends in 800 s]"));
}

// As after a restart of the gateway: the agent knows it.
TEST_F(JobToolsTest, TheDeadlineOfAJobThatIsNotRememberedIsAskedOfTheAgent) {
  agent_.watch_job.Answer({Output(0, "so far\n")});
  v1::ReadOutputResponse state;
  state.mutable_job()->set_deadline_ms(absl::ToUnixMillis(clock_.Now() + absl::Seconds(70)));
  agent_.read_output.Answer(state);
  EXPECT_THAT(Text("wait_command", StrCat(kJob, R"(,"wait_seconds":0)")),
              StartsWith(StrCat(kFacts, " [next offset 7] [ends in 70 s]\n")));
  EXPECT_EQ(agent_.read_output.requests().size(), 1u);
}

TEST_F(JobToolsTest, AJobThatIsNotRememberedIsShownFromItsStart) {
  agent_.watch_job.Answer({Output(0, "all of it\n"), Exited(0)});
  EXPECT_EQ(Text("wait_command", kJob),
            "[sandbox amber-otter-417] [exit 0]\nnote: where the last result of this job stopped "
            "isn't known here: from its start\nall of it\n");
  EXPECT_EQ(agent_.watch_job.requests()[0].job_id(), kJobId);
  EXPECT_EQ(agent_.watch_job.requests()[0].from_offset(), 0);
}

TEST_F(JobToolsTest, AnOffsetThatIsGivenCounts) {
  agent_.watch_job.Answer({Output(100, "x"), Exited(0)});
  EXPECT_EQ(Text("wait_command", StrCat(kJob, R"(,"offset":100)")),
            "[sandbox amber-otter-417] [exit 0]\nx");
}

TEST_F(JobToolsTest, TheNewestJobIsMeantIfNoneIsNamed) {
  agent_.watch_job.Answer({Exited(0)});
  Text("wait_command", kSandbox);
  EXPECT_EQ(agent_.list_jobs.requests()[0].limit(), 1);
  EXPECT_EQ(agent_.watch_job.requests()[0].job_id(), kJobId);
}

TEST_F(JobToolsTest, AJobsIdIsTakenAsModelsCopyIt) {
  for (const std::string_view id :
       {"0F0F0F0F0f0f0f0f0f0f0f0f0f0f0f0f", " 0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f ",
        "[job 0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f]", "job 0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f"}) {
    agent_.watch_job.Answer({Exited(0)});
    Text("wait_command", StrCat(kSandbox, R"(,"job":")", id, "\""));
    EXPECT_EQ(agent_.watch_job.requests().back().job_id(), kJobId);
  }
}

TEST_F(JobToolsTest, AWaitThatIsOverLeavesTheJobAlone) {
  auto stream = agent_.watch_job.Open();
  stream->Send(Output(0, "half a character \xE2\x82"));
  const std::string text = Text("wait_command", StrCat(kJob, R"(,"wait_seconds":1)"));
  EXPECT_THAT(text, StartsWith(StrCat(kFacts, " [next offset 17]\nnote: ")));
  EXPECT_THAT(text, EndsWith("\nhalf a character "));
  agent_.watch_job.Answer({Output(17, "€\n"), Exited(0)});
  EXPECT_THAT(Text("wait_command", kJob), EndsWith("[exit 0]\n€\n"));
  EXPECT_TRUE(agent_.signal_job.requests().empty());
}

TEST_F(JobToolsTest, AClosedStreamEndsOnlyTheWaiting) {
  for (const Request& request :
       {ModernCall("wait_command", kJob), LegacyCall("wait_command", kJob)}) {
    auto stream = agent_.watch_job.Open();
    const auto call = Start(request);
    EXPECT_FALSE(call->done());
    call->Close();
    Pump();
    EXPECT_TRUE(call->done());
    EXPECT_TRUE(stream->abandoned());
    EXPECT_TRUE(agent_.signal_job.requests().empty());
  }
}

TEST_F(JobToolsTest, ACommandThatWaitsForInputSaysHowToGiveIt) {
  v1::JobEvent waiting;
  waiting.mutable_waiting_for_input();
  agent_.watch_job.Answer({Output(0, "Name? "), waiting});
  EXPECT_THAT(Text("wait_command", StrCat(kJob, R"(,"wait_seconds":0)")),
              HasSubstr("note: it waits for input: give it with send_input"));
}

TEST_F(JobToolsTest, ACommandThatIsPausedIsHandedBackAtOnceWithTheRemedy) {
  v1::JobEvent paused;
  paused.mutable_paused()->set_reason("paused: delete files");
  auto stream = agent_.watch_job.Open();
  const auto call = Start(ModernCall("wait_command", StrCat(kJob, R"(,"wait_seconds":200)")));
  stream->Send(Output(0, "half"));
  Pump();
  EXPECT_FALSE(call->done());
  stream->Send(paused);
  Pump();
  ASSERT_TRUE(call->done());
  const std::string text = TextOf(call->reply());
  EXPECT_THAT(text, HasSubstr("[running] [cause disk]"));
  EXPECT_THAT(text, HasSubstr("\nnote: paused: delete files\n"));
  EXPECT_THAT(text, EndsWith("\nhalf"));
}

TEST_F(JobToolsTest, AnAgentThatIsAwayIsAnErrorAndNoRunningJob) {
  agent_.watch_job.OpenAlways([](const auto&) {
    auto stream = std::make_shared<FakeStream<v1::JobEvent>>();
    stream->Fail(absl::UnavailableError("sandkeep-agent isn't answering"));
    return stream;
  });
  EXPECT_THAT(Refusal("wait_command", StrCat(kJob, R"(,"wait_seconds":0)")),
              HasSubstr("isn't running or isn't answering"));
}

// ---- Wrong jobs and offsets ----

TEST_F(JobToolsTest, AnUnknownAForeignAndAMalformedJobHaveTheSameAnswer) {
  std::set<std::string> texts;
  for (const std::string_view word : {"no such job in this sandbox", "no such sandbox"}) {
    agent_.watch_job.Fail(absl::NotFoundError(std::string(word)));
    texts.insert(Refusal("wait_command", kJob));
    agent_.read_output.Fail(absl::NotFoundError(std::string(word)));
    texts.insert(Refusal("read_output", kJob));
    agent_.send_input.Fail(absl::NotFoundError(std::string(word)));
    texts.insert(Refusal("send_input", StrCat(kJob, R"(,"text":"x")")));
    agent_.signal_job.Fail(absl::NotFoundError(std::string(word)));
    texts.insert(Refusal("stop_command", kJob));
  }
  for (const std::string_view id : {"7", "../x", "0f0f", "0g0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f"}) {
    texts.insert(Refusal("wait_command", StrCat(kSandbox, R"(,"job":")", id, "\"")));
  }
  EXPECT_EQ(texts.size(), 1u);
  EXPECT_THAT(*texts.begin(), HasSubstr("There is no such job in this sandbox: sandbox_info"));
}

TEST_F(JobToolsTest, ASandboxWithoutCommandsSaysSo) {
  agent_.list_jobs.Answer(v1::ListJobsResponse());
  EXPECT_THAT(Refusal("wait_command", kSandbox), HasSubstr("No command has run in this sandbox"));
}

TEST_F(JobToolsTest, OffsetsThatCannotBeAreRefused) {
  for (const std::string_view tool : {"wait_command", "read_output"}) {
    EXPECT_THAT(Refusal(tool, StrCat(kJob, R"(,"offset":-1)")), HasSubstr("0 or more"));
    EXPECT_THAT(Refusal(tool, StrCat(kJob, R"(,"offset":"x")")), HasSubstr("whole number"));
  }
  agent_.watch_job.Fail(absl::OutOfRangeError("from_offset: past the end"));
  EXPECT_THAT(Refusal("wait_command", StrCat(kJob, R"(,"offset":99)")), HasSubstr("past the end"));
  agent_.read_output.Fail(absl::OutOfRangeError("offset: past the end"));
  EXPECT_THAT(Refusal("read_output", StrCat(kJob, R"(,"offset":99)")), HasSubstr("past the end"));
  EXPECT_THAT(Refusal("read_output", StrCat(kJob, R"(,"limit":0)")), HasSubstr("at least 1"));
}

// ---- read_output ----

TEST_F(JobToolsTest, PartsOfAnyLengthMakeTheWholeWithoutBreakingACharacter) {
  settings_.max_output_bytes = 4096;
  const std::string all = "naïve €uro 😀\n\x1b[1mbold\x1b[0m end\n";
  Print(all, v1::Job::ENDED);
  for (const int limit : {1, 3, 5, 6, 9, 1000}) {
    std::string whole;
    std::string next = "0";
    for (int i = 0; i < 100 && !next.empty(); ++i) {
      const std::string text =
          Text("read_output", StrCat(kJob, R"(,"offset":)", next, R"(,"limit":)", limit));
      const std::size_t line_end = text.find('\n');
      if (line_end != std::string::npos) whole += text.substr(line_end + 1);
      const std::size_t at = text.find("[next offset ");
      next = at == std::string::npos ? "" : text.substr(at + 13, text.find(']', at) - at - 13);
    }
    EXPECT_EQ(whole, "naïve €uro 😀\nbold end\n") << limit;
  }
}

TEST_F(JobToolsTest, ReadingWithoutAnOffsetGoesOn) {
  settings_.max_output_bytes = 1024;
  Print(std::string(1500, 'a') + "\nthe end\n", v1::Job::RUNNING);
  const std::string first = Text("read_output", kJob);
  EXPECT_THAT(first, StartsWith(StrCat(kFacts, " [next offset 1024]\nnote: where the last")));
  const std::string second = Text("read_output", kJob);
  EXPECT_THAT(second, StartsWith(StrCat(kFacts, " [next offset 1509]\naaaa")));
  EXPECT_THAT(second, EndsWith("a\nthe end\n"));
  EXPECT_EQ(Text("read_output", kJob),
            StrCat(kFacts, " [next offset 1509]\nnote: there is nothing more so far"));
}

TEST_F(JobToolsTest, AnEndedJobReadToItsEndHasNoNextOffset) {
  Print("all\n", v1::Job::ENDED);
  EXPECT_EQ(Text("read_output", StrCat(kJob, R"(,"offset":0)")),
            "[sandbox amber-otter-417] [exit 0] [job 0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f]\nall\n");
}

TEST_F(JobToolsTest, WhatTheSpoolDroppedIsSaid) {
  v1::ReadOutputResponse response;
  response.set_offset(5000);
  response.set_data("after\n");
  response.add_gaps()->set_from(100);
  response.mutable_gaps(0)->set_to(5000);
  response.mutable_job()->set_state(v1::Job::ENDED);
  response.mutable_job()->set_output_bytes(9000);
  agent_.read_output.Answer(response);
  const std::string text = Text("read_output", StrCat(kJob, R"(,"offset":100)"));
  EXPECT_THAT(text, HasSubstr("[next offset 5006]\nnote: bytes 100 to 5000 are gone"));
  EXPECT_THAT(text, EndsWith("\nafter\n"));
}

TEST_F(JobToolsTest, BinaryOutputIsALineWithALink) {
  Print(std::string("\x7f"
                    "ELF\0\0\0",
                    7),
        v1::Job::ENDED);
  EXPECT_THAT(
      Text("read_output", StrCat(kJob, R"(,"offset":0)")),
      HasSubstr("binary output, 7 bytes, beginning with 7f 45 4c 46 00 00 00: write it to a "
                "file, and hand that to the person; as it is, for the person: "
                "[output](https://box.example/dl/signed/amber-otter-417-abcdefghijklmnop/"
                ".jobs/0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f)"));
}

// ---- send_input ----

TEST_F(JobToolsTest, InputIsSentAsItStands) {
  agent_.send_input.AnswerAlways([](const auto&) { return v1::SendInputResponse(); });
  EXPECT_EQ(Text("send_input", StrCat(kJob, R"(,"text":"yes\n")")),
            StrCat(kFacts, "\n4 bytes sent"));
  EXPECT_EQ(agent_.send_input.requests()[0].data(), "yes\n");
  EXPECT_FALSE(agent_.send_input.requests()[0].end());
  EXPECT_EQ(Text("send_input", StrCat(kJob, R"(,"end":true)")),
            StrCat(kFacts, "\n0 bytes sent, its input is closed"));
  EXPECT_TRUE(agent_.send_input.requests()[1].end());
  EXPECT_THAT(Refusal("send_input", kJob), HasSubstr("nothing to send"));
}

TEST_F(JobToolsTest, MuchInputGoesInParts) {
  agent_.send_input.AnswerAlways([](const auto&) { return v1::SendInputResponse(); });
  const std::string text(2 * kMaxInputBytes + 5, 'x');
  Text("send_input", StrCat(kJob, R"(,"end":true,"text":")", text, "\""));
  std::string sent;
  for (const v1::SendInputRequest& request : agent_.send_input.requests()) {
    EXPECT_EQ(request.end(), sent.size() + request.data().size() == text.size());
    sent += request.data();
  }
  EXPECT_EQ(sent, text);
}

TEST_F(JobToolsTest, InputThatNobodyReadsIsRefusedWithWhatToDo) {
  agent_.send_input.Fail(absl::FailedPreconditionError("the command has ended"));
  EXPECT_EQ(Refusal("send_input", StrCat(kJob, R"(,"text":"x")")),
            "[sandbox amber-otter-417] Nothing was sent, since the command has ended: start it "
            "again with keep_stdin, or with all of its input as stdin.");
  agent_.send_input.Answer(v1::SendInputResponse());
  agent_.send_input.Fail(absl::ResourceExhaustedError("the command doesn't read its input"));
  EXPECT_THAT(Refusal("send_input",
                      StrCat(kJob, R"(,"text":")", std::string(kMaxInputBytes + 1, 'x'), "\"")),
              HasSubstr("Only 1048576 bytes were sent, since the command doesn't read"));
}

// ---- stop_command ----

TEST_F(JobToolsTest, StoppingEndsTheTreeAndShowsHowItEnded) {
  agent_.signal_job.Answer(v1::SignalJobResponse());
  agent_.watch_job.Answer({Output(0, "bye\n"), Ended(v1::Outcome::CANCELLED, 143)});
  const std::string text = Text("stop_command", kJob);
  EXPECT_THAT(text, StartsWith("[sandbox amber-otter-417] [exit 143] [cause cancelled]\n"));
  EXPECT_THAT(text, EndsWith("\nbye\n"));
  EXPECT_EQ(agent_.signal_job.requests()[0].signal(), SIGTERM);
  EXPECT_EQ(agent_.signal_job.requests()[0].grace_ms(), kStopGrace.count());
}

TEST_F(JobToolsTest, AnotherSignalIsOnlySent) {
  agent_.signal_job.Answer(v1::SignalJobResponse());
  auto stream = agent_.watch_job.Open();
  stream->Send(Output(0, "reloaded\n"));
  EXPECT_THAT(Text("stop_command", StrCat(kJob, R"(,"signal":"sighup")")), StartsWith(kFacts));
  EXPECT_EQ(agent_.signal_job.requests()[0].signal(), SIGHUP);
  EXPECT_EQ(agent_.signal_job.requests()[0].grace_ms(), 0);
}

TEST_F(JobToolsTest, AFinishedJobsLeftBehindProcessesAreEnded) {
  v1::SignalJobResponse ended;
  ended.mutable_job()->set_state(v1::Job::ENDED);
  ended.mutable_job()->mutable_outcome()->set_ending(v1::Outcome::EXITED);
  ended.mutable_job()->set_left_behind(2);
  agent_.signal_job.Answer(ended);
  EXPECT_EQ(Text("stop_command", kJob),
            "[sandbox amber-otter-417] [exit 0] [job 0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f]\nnote: it "
            "had ended already; the signal went to the 2 processes that it had left behind");
  ended.mutable_job()->set_left_behind(0);
  agent_.signal_job.Answer(ended);
  EXPECT_THAT(Text("stop_command", kJob), HasSubstr("with all of its processes"));
}

TEST_F(JobToolsTest, ASignalThatDoesNotExistIsRefusedWithThoseThatDo) {
  EXPECT_THAT(Refusal("stop_command", StrCat(kJob, R"(,"signal":"NOPE")")),
              HasSubstr("There is no such signal here: give one of TERM, KILL, INT"));
  EXPECT_TRUE(agent_.signal_job.requests().empty());
}

// ---- What is left out ----

TEST_F(JobToolsTest, ACutResultSaysHowToReadTheRestAndLinksAllOfIt) {
  settings_.max_output_bytes = 2048;
  agent_.watch_job.Answer({Output(0, std::string(10'000, 'x')), Exited(0)});
  const std::string text = Text("wait_command", StrCat(kJob, R"(,"offset":0)"));
  EXPECT_THAT(text, HasSubstr("[job 0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f]\n"));
  EXPECT_THAT(text, HasSubstr("left out here: read_output with job 0f0f0f0f"));
  EXPECT_THAT(text, HasSubstr("[output](https://box.example/dl/signed/amber-otter-417-"));
  // Asked for without an offset it isn't shown a second time.
  agent_.watch_job.Answer({Exited(0)});
  Text("wait_command", kJob);
  EXPECT_EQ(agent_.watch_job.requests().back().from_offset(), 10'000);
}

}  // namespace
}  // namespace sandkeep::mcp
