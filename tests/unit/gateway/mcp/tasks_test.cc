// A command as a task, for clients that know tasks: when it becomes one, what is told of it, and
// that nobody gets one who didn't ask.
#include "common/limits.h"
#include "tests/unit/gateway/mcp/endpoint_test_base.h"

namespace sandkeep::mcp {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr std::string_view kArguments = R"("sandbox":"Amber Otter 417","command":"true")";
constexpr std::string_view kTaskMeta =
    R"("_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",)"
    R"("io.modelcontextprotocol/clientCapabilities":)"
    R"({"extensions":{"io.modelcontextprotocol/tasks":{}}}})";

class TasksTest : public EndpointTestBase {
 protected:
  static Request WithTasks(std::string_view method, std::string_view params,
                           std::string_view name) {
    Request request = Legacy(method, StrCat(params, ",", kTaskMeta));
    request.protocol_version = "2026-07-28";
    request.method = std::string(method);
    request.name = std::string(name);
    return request;
  }
  static Request Run(std::string_view more = "") {
    return WithTasks("tools/call",
                     StrCat(R"("name":"run_command","arguments":{)", kArguments, more, "}"),
                     "run_command");
  }
  static Request On(std::string_view method, std::string_view id) {
    return WithTasks(method, StrCat(R"("inputResponses":{},"taskId":")", id, "\""), id);
  }

  // A command that outlasts the time for a plain result.
  std::string MakeTask() {
    auto stream = agent_.start_job.Open();
    v1::JobEvent started = Started();
    started.mutable_started()->mutable_job()->set_started_ms(1'700'000'000'000);
    stream->Send(started);
    stream->Send(Output(0, "so far\n"));
    created_ = ResultOf(Ask(Run()));
    return std::string(created_.at("taskId").as_string());
  }

  void AnswerState(v1::Job job) {
    agent_.read_output.AnswerAlways([job](const v1::ReadOutputRequest& request) {
      v1::ReadOutputResponse answer;
      answer.set_offset(request.offset());
      *answer.mutable_job() = job;
      if (job.output_bytes() > 0) answer.set_data("so far\nstep 2\n");
      return answer;
    });
  }

  static v1::Job Ended(v1::Outcome outcome) {
    v1::Job job;
    job.set_state(v1::Job::ENDED);
    job.set_started_ms(1'700'000'000'000);
    job.set_ended_ms(1'700'000'009'000);
    *job.mutable_outcome() = std::move(outcome);
    return job;
  }

  json::object created_;
};

TEST_F(TasksTest, ACommandThatEndsSoonIsAPlainResult) {
  agent_.start_job.Answer({Started(), Output(0, "quick\n"), Exited(0)});
  const json::object result = ResultOf(Ask(Run()));
  EXPECT_EQ(result.at("resultType").as_string(), "complete");
  EXPECT_FALSE(result.contains("taskId"));
}

TEST_F(TasksTest, ALongerOneIsATaskWhoseClientMayLeave) {
  MakeTask();
  EXPECT_EQ(created_.at("resultType").as_string(), "task");
  EXPECT_EQ(created_.at("status").as_string(), "working");
  EXPECT_EQ(created_.at("createdAt").as_string(), "2023-11-14T22:13:20.000Z");
  EXPECT_EQ(created_.at("statusMessage").as_string(), "so far");
  EXPECT_FALSE(created_.contains("content"));
  Pump();
  EXPECT_TRUE(agent_.signal_job.requests().empty());
}

TEST_F(TasksTest, NobodyElseGetsOne) {
  auto stream = agent_.start_job.Open();
  stream->Send(Started());
  const auto call = Start(ModernCall("run_command", kArguments));
  stream->Send(Exited(0));
  Finish(*call);
  EXPECT_EQ(ResultOf(call->reply()).at("resultType").as_string(), "complete");
  const Reply refused = Ask([]() {
    Request request = Modern("tasks/get", R"("taskId":"job-00")");
    request.name = "job-00";
    return request;
  }());
  EXPECT_EQ(ErrorCode(refused), kMissingClientCapability);
  EXPECT_EQ(refused.disposition, Disposition::kBadRequest);
  EXPECT_EQ(ErrorCode(Ask(Legacy("tasks/get", R"("taskId":"job-00")"))), kMethodNotFound);
}

// Who says how long to wait wants to go on then.
TEST_F(TasksTest, AModelThatSaysHowLongItWaitsGetsItsJobBack) {
  for (const std::string_view more : {R"(,"wait_seconds":0)", R"(,"background":true)"}) {
    auto stream = agent_.start_job.Open();
    stream->Send(Started());
    EXPECT_THAT(TextOf(Ask(Run(more))), HasSubstr("[running] [job "));
  }
}

TEST_F(TasksTest, WhileItRunsItsLastLineIsTold) {
  const std::string id = MakeTask();
  v1::Job job;
  job.set_state(v1::Job::RUNNING);
  job.set_output_bytes(14);
  AnswerState(job);
  const json::object task = ResultOf(Ask(On("tasks/get", id)));
  EXPECT_EQ(task.at("resultType").as_string(), "complete");
  EXPECT_EQ(task.at("taskId").as_string(), id);
  EXPECT_EQ(task.at("status").as_string(), "working");
  EXPECT_EQ(task.at("statusMessage").as_string(), "step 2");
  EXPECT_FALSE(task.contains("result"));
}

TEST_F(TasksTest, ItsResultIsWhatTheCallWouldHaveReturned) {
  const std::string id = MakeTask();
  v1::Outcome outcome;
  outcome.set_ending(v1::Outcome::EXITED);
  outcome.set_code(3);
  AnswerState(Ended(outcome));
  agent_.watch_job.Answer({Output(0, "so far\nall\n"), Exited(3)});
  const json::object task = ResultOf(Ask(On("tasks/get", id)));
  EXPECT_EQ(task.at("status").as_string(), "completed");
  EXPECT_EQ(task.at("lastUpdatedAt").as_string(), "2023-11-14T22:13:29.000Z");
  const json::object result = task.at("result").as_object();
  EXPECT_EQ(result.at("content").as_array().at(0).at("text").as_string(),
            "[sandbox amber-otter-417] [new] [exit 3]\nso far\nall\n");
}

TEST_F(TasksTest, ACancelEndsTheCommandAndIsSeen) {
  const std::string id = MakeTask();
  v1::Job job;
  job.set_state(v1::Job::RUNNING);
  AnswerState(job);
  agent_.signal_job.AnswerAlways([](const auto&) { return v1::SignalJobResponse(); });
  const json::object ack = ResultOf(Ask(On("tasks/cancel", id)));
  EXPECT_EQ(ack.at("resultType").as_string(), "complete");
  EXPECT_FALSE(ack.contains("taskId"));
  ASSERT_EQ(agent_.signal_job.requests().size(), 1u);

  v1::Outcome outcome;
  outcome.set_ending(v1::Outcome::CANCELLED);
  AnswerState(Ended(outcome));
  EXPECT_EQ(ResultOf(Ask(On("tasks/get", id))).at("status").as_string(), "cancelled");
  Ask(On("tasks/cancel", id));
  EXPECT_EQ(agent_.signal_job.requests().size(), 1u);
}

TEST_F(TasksTest, IdsThatAreNoneAreUnknownAndAskNobody) {
  const std::string hex(32, 'a');
  for (const std::string& id :
       {std::string("job-"), std::string("job"), std::string("x"), StrCat("job-", hex),
        StrCat("job-", hex, "-"), StrCat("job-", hex, "-zz"), StrCat("job-", hex, "-616"),
        StrCat("job-aa-6161"), StrCat("job-", hex, "-ff"),
        StrCat("job-", hex, "-", std::string(130, 'a')), std::string(300, 'j')}) {
    for (const std::string_view method : {"tasks/get", "tasks/cancel", "tasks/update"}) {
      EXPECT_EQ(ErrorCode(Ask(On(method, id))), kInvalidParams) << method << " " << id;
    }
  }
  EXPECT_TRUE(agent_.read_output.requests().empty());
}

TEST_F(TasksTest, TheAgentIsAskedForTheCallersOwnSandbox) {
  const std::string id = MakeTask();
  agent_.read_output.AnswerAlways(
      [](const auto&) { return absl::NotFoundError("no such job in this sandbox"); });
  Request request = On("tasks/get", id);
  request.caller.principal = *PrincipalId::Parse("key-two");
  EXPECT_EQ(ErrorCode(Ask(request)), kInvalidParams);
  EXPECT_EQ(agent_.read_output.requests().at(0).sandbox().principal(), "key-two");
}

TEST_F(TasksTest, TheHeaderNamesTheTask) {
  Request request = On("tasks/get", "job-00");
  request.name = "job-01";
  EXPECT_EQ(ErrorCode(Ask(request)), kHeaderMismatch);
  request = On("tasks/get", "job-00");
  request.name.reset();
  EXPECT_EQ(ErrorCode(Ask(request)), kHeaderMismatch);
}

}  // namespace
}  // namespace sandkeep::mcp
