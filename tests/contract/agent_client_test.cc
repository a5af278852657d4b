// What every AgentClient does, the real one over a socket and the fake that the gateway's tests
// script: only what passes on both may a test rely on.

#include <gtest/gtest.h>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <future>
#include <memory>

#include "tests/fakes/fake_agent_client.h"
#include "tests/integration/agent_harness.h"

namespace sandkeep {
namespace {

namespace asio = boost::asio;
namespace v1 = agent::v1;

// The agent's end of one job's stream, in the test's hand.
class Feed {
 public:
  virtual ~Feed() = default;
  virtual void Output(const std::string& data) = 0;
  virtual void End() = 0;
  virtual void Fail(absl::Status status) = 0;
  // Resolves when the client has left the stream.
  virtual std::future<void> Left() = 0;
};

class World {
 public:
  virtual ~World() = default;
  virtual AgentClient& client() = 0;
  // Where the calls run; threads run it.
  virtual asio::io_context& io() = 0;

  virtual void AnswerGetSandbox(const absl::Status& status) = 0;
  // Until it is cancelled. Resolves when the call has arrived.
  virtual std::future<void> HangListJobs() = 0;
  // The next WatchJob.
  virtual std::shared_ptr<Feed> OpenWatch() = 0;
};

class RealFeed : public Feed {
 public:
  void Output(const std::string& data) override { events->Send(OutputEvent(0, data)); }
  void End() override { events->Send(EndEvent()); }
  void Fail(absl::Status status) override { events->Fail(std::move(status)); }
  std::future<void> Left() override { return left.get_future(); }

  // A queue that hangs when it is empty.
  const std::shared_ptr<FakeStream<JobEvent>> events = std::make_shared<FakeStream<JobEvent>>();
  std::promise<void> left;
};

class RealWorld : public World {
 public:
  AgentClient& client() override { return *agent_.client; }
  asio::io_context& io() override { return agent_.io(); }

  void AnswerGetSandbox(const absl::Status& status) override {
    agent_.manager.get = [status](const SandboxRef&) -> absl::StatusOr<SandboxSnapshot> {
      if (status.ok()) return SomeSandbox();
      return status;
    };
  }
  std::future<void> HangListJobs() override {
    auto arrived = std::make_shared<std::promise<void>>();
    agent_.manager.list_jobs = [arrived](SandboxRef, int) {
      arrived->set_value();
      return HangUntilCancelled<std::vector<JobSnapshot>>(std::make_shared<Pending<bool>>());
    };
    return arrived->get_future();
  }
  std::shared_ptr<Feed> OpenWatch() override {
    auto feed = std::make_shared<RealFeed>();
    agent_.manager.watch_job = [feed](SandboxRef, std::optional<JobId>, std::int64_t, bool) {
      return Answered<WatchedJob>(WatchedJob{SomeJob(), std::make_unique<Watcher>(feed)});
    };
    return feed;
  }

 private:
  class Watcher : public JobWatcher {
   public:
    explicit Watcher(std::shared_ptr<RealFeed> feed) : feed_(std::move(feed)) {}
    ~Watcher() override { feed_->left.set_value(); }
    Async<JobEvent> Next() override {
      auto waiting = feed_->events->Next();
      absl::StatusOr<std::optional<JobEvent>> event = co_await std::move(waiting);
      CO_RETURN_IF_ERROR(event.status());
      co_return **std::move(event);
    }

   private:
    const std::shared_ptr<RealFeed> feed_;
  };

  AgentHarness agent_;
};

class FakeFeed : public Feed {
 public:
  explicit FakeFeed(std::shared_ptr<FakeStream<v1::JobEvent>> stream) : stream_(std::move(stream)) {
    stream_->OnAbandoned([left = left_] { left->set_value(); });
  }
  void Output(const std::string& data) override {
    v1::JobEvent event;
    event.mutable_output()->set_data(data);
    stream_->Send(std::move(event));
  }
  void End() override { stream_->End(); }
  void Fail(absl::Status status) override { stream_->Fail(std::move(status)); }
  std::future<void> Left() override { return left_->get_future(); }

 private:
  const std::shared_ptr<FakeStream<v1::JobEvent>> stream_;
  const std::shared_ptr<std::promise<void>> left_ = std::make_shared<std::promise<void>>();
};

class FakeWorld : public World {
 public:
  ~FakeWorld() override {
    work_.reset();
    thread_.join();
  }
  AgentClient& client() override { return fake_; }
  asio::io_context& io() override { return io_; }

  void AnswerGetSandbox(const absl::Status& status) override {
    v1::Sandbox sandbox;
    sandbox.set_label("amber-otter");
    if (status.ok()) return fake_.get_sandbox.Answer(sandbox);
    fake_.get_sandbox.Fail(status);
  }
  std::future<void> HangListJobs() override {
    fake_.list_jobs.Hang();
    std::promise<void> arrived;
    arrived.set_value();
    return arrived.get_future();
  }
  std::shared_ptr<Feed> OpenWatch() override {
    return std::make_shared<FakeFeed>(fake_.watch_job.Open());
  }

 private:
  FakeAgentClient fake_;
  asio::io_context io_;
  asio::executor_work_guard<asio::io_context::executor_type> work_{io_.get_executor()};
  std::thread thread_{[this] { io_.run(); }};
};

template <typename WorldType>
class AgentClientContract : public testing::Test {
 protected:
  template <typename T>
  T Run(asio::awaitable<T> coroutine) {
    return asio::co_spawn(world_.io(), std::move(coroutine), asio::use_future).get();
  }
  absl::StatusOr<v1::Sandbox> GetSandbox() {
    return Run(world_.client().GetSandbox(Named<v1::GetSandboxRequest>()));
  }
  JobEventStream Watch() {
    auto request = Named<v1::WatchJobRequest>();
    request.set_follow(true);
    return world_.client().WatchJob(std::move(request));
  }
  // Cancels the coroutine once `begun`; its status.
  template <typename T, typename Begun>
  absl::Status Cancelled(asio::awaitable<T> coroutine, Begun begun) {
    const auto strand = asio::make_strand(world_.io());
    asio::cancellation_signal signal;
    std::promise<absl::Status> ended;
    auto finished = [&](std::exception_ptr, const T& result) { ended.set_value(result.status()); };
    asio::co_spawn(strand, std::move(coroutine),
                   asio::bind_cancellation_slot(signal.slot(), std::move(finished)));
    begun();
    asio::post(strand, [&] { signal.emit(asio::cancellation_type::terminal); });
    return ended.get_future().get();
  }

  WorldType world_;
};

using Worlds = testing::Types<RealWorld, FakeWorld>;
TYPED_TEST_SUITE(AgentClientContract, Worlds);

TYPED_TEST(AgentClientContract, AnAnswerArrives) {
  this->world_.AnswerGetSandbox(absl::OkStatus());
  const auto sandbox = this->GetSandbox();
  ASSERT_TRUE(sandbox.ok()) << sandbox.status();
  EXPECT_EQ(sandbox->label(), "amber-otter");
}

TYPED_TEST(AgentClientContract, AnErrorKeepsItsCodeAndItsText) {
  for (const absl::Status& status :
       {absl::NotFoundError("no such sandbox"), absl::ResourceExhaustedError("full: free some"),
        absl::UnavailableError("the engine isn't answering"), absl::AbortedError("changed"),
        absl::DataLossError("shrank"), absl::UnimplementedError("not served")}) {
    this->world_.AnswerGetSandbox(status);
    EXPECT_EQ(this->GetSandbox().status(), status);
  }
}

TYPED_TEST(AgentClientContract, ACallThatHangsEndsWithItsCoroutine) {
  auto arrived = this->world_.HangListJobs();
  const absl::Status status = this->Cancelled(
      this->world_.client().ListJobs(Named<v1::ListJobsRequest>()), [&] { arrived.get(); });
  EXPECT_TRUE(absl::IsCancelled(status)) << status;
}

TYPED_TEST(AgentClientContract, AStreamGivesItsMessagesInOrderAndItsEndAgainAndAgain) {
  const auto feed = this->world_.OpenWatch();
  const JobEventStream stream = this->Watch();
  feed->Output("one");
  feed->Output("two");
  EXPECT_EQ((*this->Run(stream->Next()))->output().data(), "one");
  EXPECT_EQ((*this->Run(stream->Next()))->output().data(), "two");
  feed->End();
  EXPECT_EQ(*this->Run(stream->Next()), std::nullopt);
  EXPECT_EQ(*this->Run(stream->Next()), std::nullopt);
}

TYPED_TEST(AgentClientContract, AStreamThatFailsSaysSoAgainAndAgain) {
  const auto feed = this->world_.OpenWatch();
  const JobEventStream stream = this->Watch();
  feed->Output("one");
  feed->Fail(absl::NotFoundError("the sandbox is gone"));
  EXPECT_TRUE(this->Run(stream->Next()).ok());
  EXPECT_EQ(this->Run(stream->Next()).status(), absl::NotFoundError("the sandbox is gone"));
  EXPECT_EQ(this->Run(stream->Next()).status(), absl::NotFoundError("the sandbox is gone"));
}

TYPED_TEST(AgentClientContract, AWaitThatIsCancelledTakesNothingFromTheStream) {
  const auto feed = this->world_.OpenWatch();
  const JobEventStream stream = this->Watch();
  const absl::Status status = this->Cancelled(stream->Next(), [] {});
  EXPECT_TRUE(absl::IsCancelled(status)) << status;
  feed->Output("kept");
  EXPECT_EQ((*this->Run(stream->Next()))->output().data(), "kept");
}

TYPED_TEST(AgentClientContract, AWaitWhoseTimeIsOverTakesNothingFromTheStream) {
  const auto feed = this->world_.OpenWatch();
  const JobEventStream stream = this->Watch();
  const auto soon = std::chrono::steady_clock::now() + std::chrono::milliseconds(1);
  const absl::Status status = this->Run(stream->NextBefore(soon)).status();
  EXPECT_TRUE(absl::IsDeadlineExceeded(status)) << status;
  feed->Output("kept");
  EXPECT_EQ((*this->Run(stream->Next()))->output().data(), "kept");
}

TYPED_TEST(AgentClientContract, DestroyingAStreamLeavesTheCall) {
  const auto feed = this->world_.OpenWatch();
  auto left = feed->Left();
  JobEventStream stream = this->Watch();
  feed->Output("one");
  EXPECT_TRUE(this->Run(stream->Next()).ok());
  stream.reset();
  left.get();
}

}  // namespace
}  // namespace sandkeep
