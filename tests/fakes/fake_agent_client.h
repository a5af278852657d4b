// An AgentClient that a test scripts. Each method has a script of its own:
//
//   FakeAgentClient agent;
//   agent.get_sandbox.Answer(sandbox);                    // the next call gets it
//   agent.get_info.AnswerAlways([](const auto& request) { return info; });
//   agent.stat_file.Fail(absl::NotFoundError("no such file"));
//   agent.list_jobs.Hang();                               // until it is cancelled
//   EXPECT_EQ(agent.get_sandbox.requests().size(), 1u);
//
//   auto stream = agent.start_job.Open();                 // the next StartJob gets this stream
//   stream->Send(started);                                // fed now or later, from any thread
//   stream->End();                                        // or Fail(status); or neither: it hangs
//   EXPECT_TRUE(stream->abandoned());                     // the caller destroyed its end
//
// A call that nothing was scripted for fails as Internal and names its method. Scripts answer in
// order; an AnswerAlways is used when the queue is empty. As the real client: calls resume on the
// caller's executor, cancelling answers Cancelled. Thread-safe.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/client/agent_client.h"
#include "common/pending.h"
#include "common/status_macros.h"
#include "common/strings.h"

namespace sandkeep {

// One unary method.
template <typename Request, typename Response>
class FakeCalls {
 public:
  using Result = absl::StatusOr<Response>;
  using Handler = std::function<Result(const Request&)>;

  explicit FakeCalls(std::string_view method) : method_(method) {}

  void Answer(Response response) {
    Push([response = std::move(response)](const Request&) -> Result { return response; });
  }
  void Fail(absl::Status status) {
    Push([status = std::move(status)](const Request&) -> Result { return status; });
  }
  void AnswerAlways(Handler handler) {
    const std::lock_guard lock(mutex_);
    always_ = std::move(handler);
  }
  // The next call waits until it is cancelled.
  void Hang() { Push(nullptr); }

  std::vector<Request> requests() const {
    const std::lock_guard lock(mutex_);
    return requests_;
  }
  // Calls that hang or hung and were cancelled.
  int cancelled() const {
    const std::lock_guard lock(mutex_);
    return cancelled_;
  }

  Async<Response> Call(Request request) {
    const std::optional<Handler> handler = Take(request);
    if (!handler.has_value()) {
      co_return absl::InternalError(StrCat("FakeAgentClient: nothing scripted for ", method_));
    }
    if (*handler) co_return (*handler)(request);
    const auto never = std::make_shared<Pending<Result>>();
    auto waiting = never->Take(absl::CancelledError("cancelled"));
    Result result = co_await std::move(waiting);
    const std::lock_guard lock(mutex_);
    ++cancelled_;
    co_return result;
  }

 private:
  void Push(Handler handler) {
    const std::lock_guard lock(mutex_);
    queue_.push_back(std::move(handler));
  }

  // nullopt: nothing is scripted; empty: hang.
  std::optional<Handler> Take(const Request& request) {
    const std::lock_guard lock(mutex_);
    requests_.push_back(request);
    if (!queue_.empty()) {
      Handler next = std::move(queue_.front());
      queue_.pop_front();
      return next;
    }
    if (always_) return always_;
    return std::nullopt;
  }

  const std::string method_;
  mutable std::mutex mutex_;
  std::deque<Handler> queue_;
  Handler always_;
  std::vector<Request> requests_;
  int cancelled_ = 0;
};

// A stream's far end, in the test's hand.
template <typename Message>
class FakeStream {
 public:
  using Item = absl::StatusOr<std::optional<Message>>;

  void Send(Message message) { Push(std::optional<Message>(std::move(message))); }
  void End() { Push(std::optional<Message>()); }
  void Fail(absl::Status status) { Push(std::move(status)); }

  bool abandoned() const {
    const std::lock_guard lock(mutex_);
    return abandoned_;
  }
  // Somebody waits in Next for what isn't there yet.
  bool waited_for() const { return arrival_->waited_for(); }
  // Messages that were pulled.
  int taken() const {
    const std::lock_guard lock(mutex_);
    return taken_;
  }
  // Called once when the caller destroys its end; from its thread.
  void OnAbandoned(std::function<void()> callback) {
    const std::lock_guard lock(mutex_);
    on_abandoned_ = std::move(callback);
  }

  // For the client's end.
  Async<std::optional<Message>> NextBefore(typename AgentStream<Message>::TimePoint until) {
    for (;;) {
      if (std::optional<Item> item = TakeReady()) co_return std::move(*item);
      auto waiting = arrival_->Take(absl::CancelledError("no answer"), {}, until);
      const absl::Status woken = co_await std::move(waiting);
      if (!woken.ok()) co_return NothingBefore(until);
    }
  }
  Async<std::optional<Message>> Next() {
    return NextBefore(AgentStream<Message>::TimePoint::max());
  }
  void Abandon() {
    std::function<void()> callback;
    {
      const std::lock_guard lock(mutex_);
      abandoned_ = true;
      callback = std::exchange(on_abandoned_, nullptr);
    }
    if (callback) callback();
  }

 private:
  void Push(Item item) {
    {
      const std::lock_guard lock(mutex_);
      items_.push_back(std::move(item));
    }
    arrival_->Deliver(absl::OkStatus());
  }

  // The end stays, so that it is answered again.
  std::optional<Item> TakeReady() {
    const std::lock_guard lock(mutex_);
    if (items_.empty()) return std::nullopt;
    Item& front = items_.front();
    if (!front.ok() || !front->has_value()) return front;
    Item item = std::move(front);
    items_.pop_front();
    ++taken_;
    return item;
  }

  mutable std::mutex mutex_;
  std::deque<Item> items_;
  bool abandoned_ = false;
  int taken_ = 0;
  std::function<void()> on_abandoned_;
  const std::shared_ptr<Pending<absl::Status>> arrival_ = std::make_shared<Pending<absl::Status>>();
};

// One streaming method.
template <typename Request, typename Message>
class FakeStreams {
 public:
  using Stream = std::shared_ptr<FakeStream<Message>>;
  using Handler = std::function<Stream(const Request&)>;

  explicit FakeStreams(std::string_view method) : method_(method) {}

  // The next call gets this stream.
  Stream Open() {
    auto stream = std::make_shared<FakeStream<Message>>();
    const std::lock_guard lock(mutex_);
    queue_.push_back(stream);
    return stream;
  }
  // The next call gets these messages and then the end.
  void Answer(std::vector<Message> messages) {
    const Stream stream = Open();
    for (Message& message : messages) stream->Send(std::move(message));
    stream->End();
  }
  // The next call fails at its first Next.
  void Fail(absl::Status status) { Open()->Fail(std::move(status)); }
  void OpenAlways(Handler handler) {
    const std::lock_guard lock(mutex_);
    always_ = std::move(handler);
  }

  std::vector<Request> requests() const {
    const std::lock_guard lock(mutex_);
    return requests_;
  }

  std::unique_ptr<AgentStream<Message>> Call(Request request) {
    return std::make_unique<Handle>(Take(std::move(request)));
  }

 private:
  class Handle : public AgentStream<Message> {
   public:
    explicit Handle(Stream stream) : stream_(std::move(stream)) {}
    ~Handle() override { stream_->Abandon(); }
    Async<std::optional<Message>> NextBefore(
        typename AgentStream<Message>::TimePoint until) override {
      return stream_->NextBefore(until);
    }

   private:
    const Stream stream_;
  };

  Stream Take(Request request) {
    Handler always;
    {
      const std::lock_guard lock(mutex_);
      requests_.push_back(request);
      if (!queue_.empty()) {
        Stream next = std::move(queue_.front());
        queue_.pop_front();
        return next;
      }
      always = always_;
    }
    if (always) return always(request);
    auto stream = std::make_shared<FakeStream<Message>>();
    stream->Fail(absl::InternalError(StrCat("FakeAgentClient: nothing scripted for ", method_)));
    return stream;
  }

  const std::string method_;
  mutable std::mutex mutex_;
  std::deque<Stream> queue_;
  Handler always_;
  std::vector<Request> requests_;
};

// WriteFile: what was written is kept with its header, and the answer is what the next script says.
class FakeFileWrites {
 public:
  struct Written {
    agent::v1::WriteFileHeader header;
    std::string data;
  };

  FakeCalls<Written, agent::v1::WriteFileResponse> calls{"WriteFile"};

  std::unique_ptr<FileSink> Open(agent::v1::WriteFileHeader header) {
    return std::make_unique<Sink>(*this, std::move(header));
  }

 private:
  class Sink : public FileSink {
   public:
    Sink(FakeFileWrites& owner, agent::v1::WriteFileHeader header)
        : owner_(owner), written_{std::move(header), ""} {}
    boost::asio::awaitable<bool> Write(std::string data) override {
      written_.data += data;
      co_return true;
    }
    Async<agent::v1::WriteFileResponse> Finish() override {
      return owner_.calls.Call(std::move(written_));
    }

   private:
    FakeFileWrites& owner_;
    Written written_;
  };
};

class FakeAgentClient : public AgentClient {
 public:
  FakeStreams<agent::v1::StartJobRequest, agent::v1::JobEvent> start_job{"StartJob"};
  FakeStreams<agent::v1::WatchJobRequest, agent::v1::JobEvent> watch_job{"WatchJob"};
  FakeStreams<agent::v1::ReadFileRequest, agent::v1::FileChunk> read_file{"ReadFile"};

  FakeFileWrites write_file;
  FakeCalls<agent::v1::DeleteFileRequest, agent::v1::DeleteFileResponse> delete_file{"DeleteFile"};

  FakeCalls<agent::v1::SendInputRequest, agent::v1::SendInputResponse> send_input{"SendInput"};
  FakeCalls<agent::v1::SignalJobRequest, agent::v1::SignalJobResponse> signal_job{"SignalJob"};
  FakeCalls<agent::v1::ListJobsRequest, agent::v1::ListJobsResponse> list_jobs{"ListJobs"};
  FakeCalls<agent::v1::ReadOutputRequest, agent::v1::ReadOutputResponse> read_output{"ReadOutput"};
  FakeCalls<agent::v1::ListSandboxesRequest, agent::v1::ListSandboxesResponse> list_sandboxes{
      "ListSandboxes"};
  FakeCalls<agent::v1::GetSandboxRequest, agent::v1::Sandbox> get_sandbox{"GetSandbox"};
  FakeCalls<agent::v1::RemoveSandboxRequest, agent::v1::RemoveSandboxResponse> remove_sandbox{
      "RemoveSandbox"};
  FakeCalls<agent::v1::FreezeRequest, agent::v1::Sandbox> freeze{"Freeze"};
  FakeCalls<agent::v1::ThawRequest, agent::v1::Sandbox> thaw{"Thaw"};
  FakeCalls<agent::v1::StatFileRequest, agent::v1::FileInfo> stat_file{"StatFile"};
  FakeCalls<agent::v1::OpenFileRequest, agent::v1::OpenFileResponse> open_file{"OpenFile"};
  FakeCalls<agent::v1::ListFilesRequest, agent::v1::ListFilesResponse> list_files{"ListFiles"};
  FakeCalls<agent::v1::RenderImageRequest, agent::v1::RenderImageResponse> render_image{
      "RenderImage"};
  FakeCalls<agent::v1::GetInfoRequest, agent::v1::Info> get_info{"GetInfo"};
  FakeCalls<agent::v1::CollectGarbageRequest, agent::v1::CollectGarbageResponse> collect_garbage{
      "CollectGarbage"};

  JobEventStream StartJob(agent::v1::StartJobRequest request) override;
  JobEventStream WatchJob(agent::v1::WatchJobRequest request) override;
  FileChunkStream ReadFile(agent::v1::ReadFileRequest request) override;
  std::unique_ptr<FileSink> WriteFile(agent::v1::WriteFileHeader header) override;
  Async<agent::v1::SendInputResponse> SendInput(agent::v1::SendInputRequest request) override;
  Async<agent::v1::SignalJobResponse> SignalJob(agent::v1::SignalJobRequest request) override;
  Async<agent::v1::ListJobsResponse> ListJobs(agent::v1::ListJobsRequest request) override;
  Async<agent::v1::ReadOutputResponse> ReadOutput(agent::v1::ReadOutputRequest request) override;
  Async<agent::v1::ListSandboxesResponse> ListSandboxes(
      agent::v1::ListSandboxesRequest request) override;
  Async<agent::v1::Sandbox> GetSandbox(agent::v1::GetSandboxRequest request) override;
  Async<agent::v1::RemoveSandboxResponse> RemoveSandbox(
      agent::v1::RemoveSandboxRequest request) override;
  Async<agent::v1::Sandbox> Freeze(agent::v1::FreezeRequest request) override;
  Async<agent::v1::Sandbox> Thaw(agent::v1::ThawRequest request) override;
  Async<agent::v1::FileInfo> StatFile(agent::v1::StatFileRequest request) override;
  Async<agent::v1::OpenFileResponse> OpenFile(agent::v1::OpenFileRequest request) override;
  Async<agent::v1::DeleteFileResponse> DeleteFile(agent::v1::DeleteFileRequest request) override;
  Async<agent::v1::ListFilesResponse> ListFiles(agent::v1::ListFilesRequest request) override;
  Async<agent::v1::RenderImageResponse> RenderImage(agent::v1::RenderImageRequest request) override;
  Async<agent::v1::Info> GetInfo(agent::v1::GetInfoRequest request) override;
  Async<agent::v1::CollectGarbageResponse> CollectGarbage(
      agent::v1::CollectGarbageRequest request) override;
};

}  // namespace sandkeep
