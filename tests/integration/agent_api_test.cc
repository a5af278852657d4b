// The agent's API through its real socket: what the two ends promise each other.

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/strand.hpp>
#include <chrono>
#include <cstdio>
#include <future>

#include "agent/service/rpc_table.h"
#include "common/limits.h"
#include "sandkeep/agent/v1/agent.grpc.pb.h"
#include "tests/fakes/patience.h"
#include "tests/integration/agent_harness.h"

namespace sandkeep {
namespace {

namespace asio = boost::asio;
namespace v1 = agent::v1;
using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

v1::GetInfoRequest InfoRequest() { return {}; }

// Counts what ends, and lets a test wait for it.
class Countdown {
 public:
  explicit Countdown(int count) : left_(count) {}
  void Hit() {
    if (--left_ == 0) done_.set_value();
  }
  bool WaitFor(seconds limit) {
    return done_.get_future().wait_for(limit) == std::future_status::ready;
  }

 private:
  std::atomic<int> left_;
  std::promise<void> done_;
};

TEST(AgentApiTest, StartsAJobAndStreamsItToItsOutcome) {
  AgentHarness agent;
  agent.manager.start_job = [](PrincipalId principal, std::string label, JobSpec spec) {
    EXPECT_EQ(principal.text(), "key-0123");
    EXPECT_EQ(label, "Amber Otter");
    EXPECT_EQ(spec.command, "true");
    EXPECT_EQ(spec.timeout, absl::InfiniteDuration());
    return Answered<StartedJob>(SomeStart(
        WatcherOf({OutputEvent(0, "hello"), GapEvent(5, 9), OutputEvent(9, "end"),
                   OutcomeEvent({.ending = Ending::kExited, .code = 42, .remedy = ""})})));
  };
  const JobEventStream stream = agent.client->StartJob(SomeCommand());
  const auto started = agent.Run(stream->Next());
  ASSERT_TRUE(started.ok()) << started.status();
  EXPECT_EQ((*started)->started().arrival(), v1::JobStarted::NEW);
  EXPECT_EQ((*started)->started().last_used_ms(), 0);
  EXPECT_EQ((*started)->started().sandbox().key(), "amber-otter-aaaaaaaaaaaaaaaa");
  EXPECT_EQ((*started)->started().notes(0), "a note");
  EXPECT_EQ((*agent.Run(stream->Next()))->output().data(), "hello");
  EXPECT_EQ((*agent.Run(stream->Next()))->gap().to(), 9);
  EXPECT_EQ((*agent.Run(stream->Next()))->output().offset(), 9);
  EXPECT_EQ((*agent.Run(stream->Next()))->outcome().code(), 42);
  EXPECT_EQ(*agent.Run(stream->Next()), std::nullopt);
  EXPECT_EQ(*agent.Run(stream->Next()), std::nullopt) << "the end is answered again";
}

TEST(AgentApiTest, AnErrorOfTheManagerKeepsItsCodeAndItsText) {
  AgentHarness agent;
  agent.manager.get = [](const SandboxRef&) {
    return absl::ResourceExhaustedError("the disk is full: free some");
  };
  const auto answer = agent.Run(agent.client->GetSandbox(Named<v1::GetSandboxRequest>()));
  EXPECT_EQ(answer.status(), absl::ResourceExhaustedError("the disk is full: free some"));
}

TEST(AgentApiTest, AThrowingManagerCostsOneCallAndNoProcess) {
  AgentHarness agent;
  agent.manager.get = [](const SandboxRef&) -> absl::StatusOr<SandboxSnapshot> {
    throw std::runtime_error("a fault of ours");
  };
  agent.manager.list_jobs = [](SandboxRef, int) -> Async<std::vector<JobSnapshot>> {
    throw std::runtime_error("a fault of ours");
  };
  const auto answer = agent.Run(agent.client->GetSandbox(Named<v1::GetSandboxRequest>()));
  EXPECT_TRUE(absl::IsInternal(answer.status())) << answer.status();
  const auto jobs = agent.Run(agent.client->ListJobs(Named<v1::ListJobsRequest>()));
  EXPECT_TRUE(absl::IsInternal(jobs.status())) << jobs.status();
  EXPECT_TRUE(agent.Run(agent.client->GetInfo(InfoRequest())).ok());
}

TEST(AgentApiTest, AFrontEndMayNotCallAnOperatorsMethod) {
  AgentHarness agent({.uid = ::geteuid(), .frontend = true, .operate = false, .prefix = ""});
  v1::CollectGarbageRequest request;
  request.set_dry_run(true);
  const auto answer = agent.Run(agent.client->CollectGarbage(request));
  EXPECT_TRUE(absl::IsPermissionDenied(answer.status())) << answer.status();
  const auto everyone = agent.Run(agent.client->ListSandboxes({}));
  EXPECT_TRUE(absl::IsInvalidArgument(everyone.status())) << everyone.status();
  EXPECT_EQ(agent.manager.calls, 0);
}

TEST(AgentApiTest, AnOperatorAloneMayNotRunCommands) {
  AgentHarness agent({.uid = ::geteuid(), .frontend = false, .operate = true, .prefix = ""});
  const JobEventStream stream = agent.client->StartJob(SomeCommand());
  EXPECT_TRUE(absl::IsPermissionDenied(agent.Run(stream->Next()).status()));
  EXPECT_EQ(agent.manager.calls, 0);
}

TEST(AgentApiTest, APeerWithAPrefixNamesNobodyElsesPrincipal) {
  AgentHarness agent({.uid = ::geteuid(), .frontend = true, .operate = false, .prefix = "stdio"});
  const auto foreign = agent.Run(agent.client->GetSandbox(Named<v1::GetSandboxRequest>()));
  EXPECT_TRUE(absl::IsPermissionDenied(foreign.status())) << foreign.status();
  EXPECT_EQ(agent.manager.calls, 0);

  agent.manager.get = [](const SandboxRef&) { return SomeSandbox(); };
  auto own = Named<v1::GetSandboxRequest>();
  own.mutable_sandbox()->set_principal("stdio-7");
  EXPECT_TRUE(agent.Run(agent.client->GetSandbox(own)).ok());
}

TEST(AgentApiTest, ALinkOfAnotherFrontEndsPrincipalLeadsNowhere) {
  Peer peer{.uid = ::geteuid(), .frontend = true, .operate = false, .prefix = "stdio"};
  const auto stat_by_key = [](AgentHarness& agent) {
    agent.manager.get = [](const SandboxRef&) { return SomeSandbox(); };
    agent.manager.stat_file = [](SandboxRef, RelPath) {
      return Answered<SandboxFile>(SandboxFile{.key = SomeSandbox().key,
                                               .generation = SomeSandbox().generation,
                                               .entry = {},
                                               .file = UniqueFd()});
    };
    v1::StatFileRequest request;
    request.mutable_sandbox()->set_key("amber-otter-aaaaaaaaaaaaaaaa");
    request.set_path("a");
    return agent.Run(agent.client->StatFile(request)).status();
  };
  AgentHarness foreign(peer);
  EXPECT_TRUE(absl::IsNotFound(stat_by_key(foreign)));
  peer.prefix = "key";
  AgentHarness own(peer);
  EXPECT_EQ(stat_by_key(own), absl::OkStatus());
}

// Of the contract, so that later work adds behaviour and no shape.
TEST(AgentApiTest, WhatIsntServedYetSaysSo) {
  AgentHarness agent;
  const auto channel = grpc::CreateChannel(StrCat("unix:", agent.socket_path()),
                                           grpc::experimental::LocalCredentials(UDS));
  const auto stub = v1::Agent::NewStub(channel);
  const auto expect = [](const grpc::Status& status) {
    EXPECT_EQ(status.error_code(), grpc::StatusCode::UNIMPLEMENTED) << status.error_message();
    EXPECT_THAT(status.error_message(), testing::HasSubstr("is not served by this version"));
  };
  {
    grpc::ClientContext context;
    v1::ResizeTerminalResponse response;
    expect(stub->ResizeTerminal(&context, v1::ResizeTerminalRequest(), &response));
  }
  {
    grpc::ClientContext context;
    v1::RemoveVolumeResponse response;
    expect(stub->RemoveVolume(&context, v1::RemoveVolumeRequest(), &response));
  }
  {
    grpc::ClientContext context;
    v1::ReadAuditResponse response;
    expect(stub->ReadAudit(&context, v1::ReadAuditRequest(), &response));
  }
  {
    grpc::ClientContext context;
    v1::Metrics response;
    expect(stub->GetMetrics(&context, v1::GetMetricsRequest(), &response));
  }
  {
    grpc::ClientContext context;
    v1::Event event;
    const auto events = stub->WatchEvents(&context, v1::WatchEventsRequest());
    EXPECT_FALSE(events->Read(&event));
    expect(events->Finish());
  }
  EXPECT_EQ(agent.manager.calls, 0);
}

TEST(AgentApiTest, AFieldOfALaterVersionIsIgnored) {
  AgentHarness agent;
  agent.manager.get = [](const SandboxRef&) { return SomeSandbox(); };
  auto request = Named<v1::GetSandboxRequest>();
  request.GetReflection()->MutableUnknownFields(&request)->AddLengthDelimited(1000, "later");
  request.mutable_sandbox()
      ->GetReflection()
      ->MutableUnknownFields(request.mutable_sandbox())
      ->AddVarint(77, 7);
  EXPECT_TRUE(agent.Run(agent.client->GetSandbox(request)).ok());
}

TEST(AgentApiTest, ARequestOverItsMethodsSizeIsRefused) {
  AgentHarness agent;
  auto request = Named<v1::GetSandboxRequest>();
  request.GetReflection()->MutableUnknownFields(&request)->AddLengthDelimited(
      1000, std::string(kSmallRequest, 'x'));
  const auto answer = agent.Run(agent.client->GetSandbox(request));
  EXPECT_TRUE(absl::IsInvalidArgument(answer.status())) << answer.status();
}

TEST(AgentApiTest, ACommandAndItsInputAtTheirLimitsArrive) {
  AgentHarness agent;
  agent.manager.start_job = [](PrincipalId, std::string, JobSpec spec) {
    EXPECT_EQ(spec.command.size(), kMaxCommandBytes);
    EXPECT_EQ(spec.stdin_text.size(), kMaxStdinBytes);
    return Answered<StartedJob>(SomeStart(WatcherOf({})));
  };
  v1::StartJobRequest request = SomeCommand();
  request.set_command(std::string(kMaxCommandBytes, 'x'));
  request.set_stdin(std::string(kMaxStdinBytes, 'y'));
  const JobEventStream stream = agent.client->StartJob(std::move(request));
  const auto started = agent.Run(stream->Next());
  EXPECT_TRUE(started.ok()) << started.status();
}

TEST(AgentApiTest, ACallerThatLeavesWhileItsJobStartsStillStartsIt) {
  const auto gate = std::make_shared<Pending<bool>>();
  std::promise<void> entered;
  std::promise<bool> finished;
  AgentHarness agent;
  agent.manager.start_job = [&](PrincipalId, std::string, JobSpec) -> Async<StartedJob> {
    struct Body {
      static Async<StartedJob> Wait(std::shared_ptr<Pending<bool>> gate,
                                    std::promise<void>* entered, std::promise<bool>* finished) {
        entered->set_value();
        auto waiting = gate->Take(false);
        finished->set_value(co_await std::move(waiting));
        co_return SomeStart(WatcherOf({}));
      }
    };
    return Body::Wait(gate, &entered, &finished);
  };
  JobEventStream stream = agent.client->StartJob(SomeCommand());
  entered.get_future().get();
  stream.reset();
  // The agent knows that the caller left: the same connection has carried the news before this.
  ASSERT_TRUE(agent.Run(agent.client->GetInfo(InfoRequest())).ok());
  gate->Deliver(true);
  EXPECT_TRUE(finished.get_future().get()) << "the start was cancelled with its caller";
}

TEST(AgentApiTest, CancellingAHangingCallEndsItAtBothEnds) {
  const auto cancelled_there = std::make_shared<Pending<bool>>();
  std::promise<void> entered;
  AgentHarness agent;
  agent.manager.list_jobs = [&](SandboxRef, int) {
    entered.set_value();
    return HangUntilCancelled<std::vector<JobSnapshot>>(cancelled_there);
  };
  asio::cancellation_signal signal;
  const auto strand = asio::make_strand(agent.io());
  std::promise<absl::Status> ended;
  auto finished = [&](std::exception_ptr, absl::StatusOr<v1::ListJobsResponse> answer) {
    ended.set_value(answer.status());
  };
  asio::co_spawn(strand, agent.client->ListJobs(Named<v1::ListJobsRequest>()),
                 asio::bind_cancellation_slot(signal.slot(), finished));
  entered.get_future().get();
  asio::post(strand, [&] { signal.emit(asio::cancellation_type::terminal); });
  EXPECT_TRUE(absl::IsCancelled(ended.get_future().get()));
  EXPECT_TRUE(agent.Run(cancelled_there->Take(false)));
}

TEST(AgentApiTest, AWaitThatIsCancelledLosesNothingOfTheStream) {
  AgentHarness agent;
  const auto gate = std::make_shared<Pending<absl::StatusOr<JobEvent>>>();
  class GatedWatcher : public JobWatcher {
   public:
    explicit GatedWatcher(std::shared_ptr<Pending<absl::StatusOr<JobEvent>>> events)
        : events_(std::move(events)) {}
    Async<JobEvent> Next() override { return events_->Take(absl::CancelledError("cancelled")); }

   private:
    std::shared_ptr<Pending<absl::StatusOr<JobEvent>>> events_;
  };
  agent.manager.watch_job = [&](SandboxRef, std::optional<JobId>, std::int64_t, bool) {
    return Answered<WatchedJob>(WatchedJob{SomeJob(), std::make_unique<GatedWatcher>(gate)});
  };
  const JobEventStream stream = agent.client->WatchJob(Named<v1::WatchJobRequest>());
  asio::cancellation_signal signal;
  const auto strand = asio::make_strand(agent.io());
  std::promise<absl::Status> ended;
  auto finished = [&](std::exception_ptr, const auto& item) { ended.set_value(item.status()); };
  asio::co_spawn(strand, stream->Next(), asio::bind_cancellation_slot(signal.slot(), finished));
  asio::post(strand, [&] { signal.emit(asio::cancellation_type::terminal); });
  EXPECT_TRUE(absl::IsCancelled(ended.get_future().get()));
  gate->Deliver(OutputEvent(0, "kept"));
  EXPECT_EQ((*agent.Run(stream->Next()))->output().data(), "kept");
}

TEST(AgentApiTest, AHundredAbandonedStreamsEndTheirWatchersAndLeaveTheServiceWell) {
  Countdown gone(100);
  std::atomic<int> number = 0;
  AgentHarness agent;
  agent.manager.watch_job = [&](SandboxRef, std::optional<JobId>, std::int64_t, bool) {
    // Half of them flood, half of them hang after the first event.
    auto count = std::make_shared<int>(0);
    const bool flood = ++number % 2 == 0;
    auto source = [count, flood]() -> std::optional<absl::StatusOr<JobEvent>> {
      if (++*count > 1 && !flood) return std::nullopt;
      return OutputEvent(0, std::string(kMaxJobOutputChunk, 'x'));
    };
    return Answered<WatchedJob>(
        WatchedJob{SomeJob(), std::make_unique<ScriptedWatcher>(source, [&gone] { gone.Hit(); })});
  };
  for (int i = 0; i < 100; ++i) {
    const JobEventStream stream = agent.client->WatchJob(Named<v1::WatchJobRequest>());
    // Every tenth leaves before the agent has seen the call, and it may never see it.
    const bool at_once = i % 10 == 0;
    if (at_once) gone.Hit();
    ASSERT_TRUE(at_once || agent.Run(stream->Next()).ok());
  }
  EXPECT_TRUE(gone.WaitFor(kTestPatience));
  EXPECT_TRUE(agent.Run(agent.client->GetInfo(InfoRequest())).ok());
}

TEST(AgentApiTest, ASlowReaderStopsItsSource) {
  std::atomic<std::int64_t> made = 0;
  AgentHarness agent;
  agent.manager.watch_job = [&](SandboxRef, std::optional<JobId>, std::int64_t, bool) {
    auto source = [&made]() -> std::optional<absl::StatusOr<JobEvent>> {
      made += kMaxJobOutputChunk;
      return OutputEvent(0, std::string(kMaxJobOutputChunk, 'x'));
    };
    return Answered<WatchedJob>(
        WatchedJob{SomeJob(), std::make_unique<ScriptedWatcher>(source, nullptr)});
  };
  constexpr int kReaders = 20;
  std::vector<JobEventStream> streams;
  for (int i = 0; i < kReaders; ++i) {
    streams.push_back(agent.client->WatchJob(Named<v1::WatchJobRequest>()));
    ASSERT_TRUE(agent.Run(streams.back()->Next()).ok());
  }
  // Time passes on the same connection, and the sources stand still.
  for (int i = 0; i < 300; ++i) ASSERT_TRUE(agent.Run(agent.client->GetInfo(InfoRequest())).ok());
  const std::int64_t each = made / kReaders;
  RecordProperty("bytes_ahead_of_a_slow_reader", static_cast<int>(each));
  EXPECT_LE(each, 3 * kRpcWindowBytes);
}

TEST(AgentApiTest, TenThousandCallsAreFast) {
  AgentHarness agent;
  struct Loop {
    static Async<std::vector<double>> Calls(AgentClient* client, int count) {
      std::vector<double> micros;
      for (int i = 0; i < count; ++i) {
        const auto begin = steady_clock::now();
        auto calling = client->GetInfo({});
        const auto answer = co_await std::move(calling);
        if (!answer.ok()) co_return answer.status();
        micros.push_back(
            std::chrono::duration<double, std::micro>(steady_clock::now() - begin).count());
      }
      std::sort(micros.begin(), micros.end());
      co_return micros;
    }
  };
  const auto micros = agent.Run(Loop::Calls(agent.client.get(), 10000));
  ASSERT_TRUE(micros.ok()) << micros.status();
  RecordProperty("p50_us", static_cast<int>((*micros)[5000]));
  RecordProperty("p99_us", static_cast<int>((*micros)[9900]));
  std::printf("unary round trip: p50 %.0f us, p99 %.0f us\n", (*micros)[5000], (*micros)[9900]);
  EXPECT_LT((*micros)[5000], 5000);
}

// ---- The agent's going and coming ----

TEST(AgentApiTest, ADeadAgentIsUnavailableAtOnceAndItsReturnIsSeen) {
  AgentHarness agent;
  ASSERT_TRUE(agent.Run(agent.client->GetInfo(InfoRequest())).ok());
  for (int round = 0; round < 3; ++round) {
    agent.StopServer();
    const auto begin = steady_clock::now();
    const auto dead = agent.Run(agent.client->GetInfo(InfoRequest()));
    EXPECT_TRUE(absl::IsUnavailable(dead.status())) << dead.status();
    EXPECT_THAT(std::string(dead.status().message()), testing::HasSubstr("isn't answering"));
    EXPECT_LT(steady_clock::now() - begin, seconds(1));
    // A long outage, seen by many calls: the backoff is at its longest.
    for (int i = 0; round == 2 && i < 400; ++i) {
      ASSERT_FALSE(agent.Run(agent.client->GetInfo(InfoRequest())).ok());
      std::this_thread::sleep_for(milliseconds(5));
    }
    agent.StartServer();
    const auto back = steady_clock::now();
    while (!agent.Run(agent.client->GetInfo(InfoRequest())).ok()) {
      ASSERT_LT(steady_clock::now() - back, seconds(5));
      std::this_thread::sleep_for(milliseconds(1));
    }
    const auto took = std::chrono::duration_cast<milliseconds>(steady_clock::now() - back);
    std::printf("seen again after %d ms\n", static_cast<int>(took.count()));
    EXPECT_LT(took, seconds(1));
  }
}

TEST(AgentApiTest, AStreamEndsAsUnavailableWhenTheAgentDies) {
  AgentHarness agent;
  agent.manager.watch_job = [](SandboxRef, std::optional<JobId>, std::int64_t, bool) {
    auto hang = []() -> std::optional<absl::StatusOr<JobEvent>> { return std::nullopt; };
    return Answered<WatchedJob>(
        WatchedJob{SomeJob(), std::make_unique<ScriptedWatcher>(hang, nullptr)});
  };
  const JobEventStream stream = agent.client->WatchJob(Named<v1::WatchJobRequest>());
  auto next = asio::co_spawn(agent.io(), stream->Next(), asio::use_future);
  ASSERT_TRUE(agent.Run(agent.client->GetInfo(InfoRequest())).ok());
  agent.StopServer();
  const auto item = next.get();
  EXPECT_FALSE(item.ok());
}

}  // namespace
}  // namespace sandkeep
