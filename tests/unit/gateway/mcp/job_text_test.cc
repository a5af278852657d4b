#include "gateway/mcp/tools/job_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/strings.h"

namespace sandkeep::mcp {
namespace {

namespace v1 = agent::v1;
using testing::HasSubstr;
using testing::StartsWith;

class JobTextTest : public testing::Test {
 protected:
  JobTextTest() : view_(1024) {
    view_.started.emplace();
    view_.started->mutable_sandbox()->set_label("amber-otter-417");
    view_.started->set_last_used_ms(absl::ToUnixMillis(now_ - absl::Minutes(5)));
    view_.outcome.emplace();
    view_.outcome->set_ending(v1::Outcome::EXITED);
  }

  std::string Text() { return MakeJobText(view_, now_, options_).text; }
  std::string FirstLine() {
    const std::string text = Text();
    return text.substr(0, text.find('\n'));
  }

  const absl::Time now_ = absl::FromUnixSeconds(1'800'000'000);
  JobView view_;
  JobTextOptions options_{.label = "from-the-call",
                          .job_id = "00ff",
                          .link = {},
                          .ends = {},
                          .timeout_given = false,
                          .notes = {}};
};

TEST_F(JobTextTest, ACommandWithoutEventsIsOneLine) {
  EXPECT_EQ(Text(), "[sandbox amber-otter-417] [exit 0]");
}

TEST_F(JobTextTest, OutputFollowsTheFacts) {
  view_.output.Append(0, "hello\n");
  EXPECT_EQ(Text(), "[sandbox amber-otter-417] [exit 0]\nhello\n");
}

TEST_F(JobTextTest, FactsStandInTheirOrder) {
  view_.started->set_arrival(v1::JobStarted::REBUILT);
  view_.started->set_last_used_ms(absl::ToUnixMillis(now_ - absl::Hours(3)));
  view_.outcome->set_ending(v1::Outcome::SIGNALLED);
  view_.outcome->set_code(9);
  view_.outcome->set_left_behind(2);
  EXPECT_EQ(FirstLine(),
            "[sandbox amber-otter-417] [rebuilt] [last used 3 h ago] [exit 137] "
            "[cause signal KILL] [job 00ff]");
}

TEST_F(JobTextTest, EachArrivalHasItsWord) {
  const std::pair<v1::JobStarted::Arrival, std::string_view> cases[] = {
      {v1::JobStarted::NEW, "[new]"},
      {v1::JobStarted::WOKEN, "[woken]"},
      {v1::JobStarted::RESTARTED, "[restarted]"},
      {v1::JobStarted::REBUILT, "[rebuilt]"}};
  for (const auto& [arrival, word] : cases) {
    view_.started->set_arrival(arrival);
    EXPECT_EQ(FirstLine(), StrCat("[sandbox amber-otter-417] ", word, " [exit 0]"));
  }
}

TEST_F(JobTextTest, WhatARestartOrARebuildingTookIsSaid) {
  view_.started->set_arrival(v1::JobStarted::RESTARTED);
  EXPECT_EQ(Text(),
            "[sandbox amber-otter-417] [restarted] [exit 0]\nnote: the sandbox had been stopped: "
            "files and packages are kept, its processes have ended");
  view_.started->set_arrival(v1::JobStarted::REBUILT);
  EXPECT_EQ(Text(),
            "[sandbox amber-otter-417] [rebuilt] [exit 0]\nnote: the sandbox had to be made anew: "
            "files below /workspace are kept, installed packages and everything else are gone");
  for (const auto arrival : {v1::JobStarted::NEW, v1::JobStarted::WOKEN}) {
    view_.started->set_arrival(arrival);
    EXPECT_THAT(Text(), testing::Not(HasSubstr("note: "))) << arrival;
  }
}

TEST_F(JobTextTest, ARecentUseIsNotWorthAWord) {
  view_.started->set_last_used_ms(absl::ToUnixMillis(now_ - absl::Minutes(30)));
  EXPECT_EQ(FirstLine(), "[sandbox amber-otter-417] [exit 0]");
  view_.started->set_last_used_ms(absl::ToUnixMillis(now_ - absl::Minutes(31)));
  EXPECT_EQ(FirstLine(), "[sandbox amber-otter-417] [last used 31 min ago] [exit 0]");
  view_.started->set_last_used_ms(0);
  EXPECT_EQ(FirstLine(), "[sandbox amber-otter-417] [exit 0]");
}

TEST_F(JobTextTest, EachCauseHasItsWordItsCodeAndARemedy) {
  struct Case {
    v1::Outcome::Ending ending;
    int code;
    std::string_view facts;
  };
  const Case cases[] = {
      {v1::Outcome::TIMED_OUT, 0, "[exit 124] [cause timeout]"},
      {v1::Outcome::CANCELLED, 0, "[cause cancelled]"},
      {v1::Outcome::CANCELLED, 143, "[exit 143] [cause cancelled]"},
      {v1::Outcome::OUT_OF_MEMORY, 137, "[exit 137] [cause oom]"},
      {v1::Outcome::PID_LIMIT, 254, "[exit 254] [cause pids]"},
      {v1::Outcome::DISK_FULL, 0, "[cause disk]"},
      {v1::Outcome::WAITING_FOR_INPUT, 1, "[exit 1] [cause input]"},
      {v1::Outcome::SANDBOX_GONE, 0, "[cause removed]"},
      {v1::Outcome::HOST_RESTARTED, 0, "[cause host]"},
      {v1::Outcome::AGENT_FAULT, 0, "[cause agent]"},
  };
  for (const Case& cause : cases) {
    view_.outcome->set_ending(cause.ending);
    view_.outcome->set_code(cause.code);
    view_.outcome->clear_remedy();
    EXPECT_EQ(FirstLine(), StrCat("[sandbox amber-otter-417] ", cause.facts));
    if (cause.ending != v1::Outcome::CANCELLED) {
      EXPECT_THAT(Text(), HasSubstr("\nnote: "));
    }
    view_.outcome->set_remedy("do this\ninstead");
    EXPECT_THAT(Text(), HasSubstr("\nnote: do this instead"));
  }
}

TEST_F(JobTextTest, ALoweredTimeoutIsSaidOnlyToWhomGaveOne) {
  view_.started->set_timeout_lowered_to_ms(900'000);
  EXPECT_EQ(Text(), "[sandbox amber-otter-417] [exit 0]");
  options_.timeout_given = true;
  EXPECT_THAT(Text(), HasSubstr("\nnote: the timeout was lowered to 900 seconds"));
}

TEST_F(JobTextTest, TheAgentsNotesAreLinesOfTheirOwn) {
  view_.started->add_notes("one");
  view_.started->add_notes("two\nlines");
  view_.output.Append(0, "out");
  EXPECT_EQ(Text(), "[sandbox amber-otter-417] [exit 0]\nnote: one\nnote: two lines\nout");
}

TEST_F(JobTextTest, ACutOutputNamesTheJob) {
  view_.output.Append(0, std::string(5000, 'x'));
  EXPECT_THAT(FirstLine(), testing::EndsWith("[exit 0] [job 00ff]"));
}

TEST_F(JobTextTest, ARunningJobSaysHowToGoOn) {
  view_.outcome.reset();
  view_.output.Append(0, "so far\n");
  options_.ends = now_ + absl::Milliseconds(61'200);
  EXPECT_EQ(Text(),
            "[sandbox amber-otter-417] [running] [job 00ff] [next offset 7] [ends in 62 s]\n"
            "so far\n");
  options_.ends = now_ - absl::Seconds(1);
  EXPECT_THAT(FirstLine(), testing::EndsWith("[ends in 0 s]"));
  options_.ends.reset();
  view_.waits_for_input = true;
  EXPECT_THAT(Text(), HasSubstr("[next offset 7]\nnote: it waits for input"));
  EXPECT_TRUE(MakeJobText(view_, now_, options_).names_job);
}

TEST_F(JobTextTest, AJobFoundAgainHasTheLabelOfTheCall) {
  view_.started.reset();
  EXPECT_EQ(Text(), "[sandbox from-the-call] [exit 0]");
  EXPECT_FALSE(MakeJobText(view_, now_, options_).names_job);
}

TEST_F(JobTextTest, ProcessesLeftBehindCanBeEnded) {
  view_.outcome->set_left_behind(1);
  EXPECT_THAT(Text(), HasSubstr("note: 1 process that it started runs on: stop_command"));
  EXPECT_THAT(FirstLine(), testing::EndsWith("[job 00ff]"));
}

TEST_F(JobTextTest, OtherCommandsThatRunAreSaid) {
  view_.started->mutable_sandbox()->set_running_jobs(1);
  EXPECT_EQ(Text(), "[sandbox amber-otter-417] [exit 0]");
  view_.started->mutable_sandbox()->set_running_jobs(3);
  EXPECT_THAT(Text(), HasSubstr("note: 2 other commands run in this sandbox"));
}

TEST_F(JobTextTest, AKnownFailureHasItsRemedyOnlyIfItFailed) {
  view_.output.Append(0, "E: Unable to locate package gizmo\n");
  EXPECT_EQ(Text(), "[sandbox amber-otter-417] [exit 0]\nE: Unable to locate package gizmo\n");
  view_.outcome->set_code(100);
  EXPECT_THAT(Text(), HasSubstr("[exit 100]\nnote: the package lists are missing"));
}

}  // namespace
}  // namespace sandkeep::mcp
