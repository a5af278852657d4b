// The one C++ client of the agent's API: the gateway, sandkeepctl and the stdio front end use it.
// GrpcAgentClient is the real one, FakeAgentClient the one that tests script; one contract suite
// holds both.
//
// Messages are those of proto/sandkeep/agent/v1. Every call has a deadline, is cancelled with its
// coroutine, resumes on the caller's executor and never blocks. Unavailable: the agent isn't there;
// the client reconnects by itself within half a second of the socket's return. Thread-safe.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "common/async.h"
#include "sandkeep/agent/v1/agent.pb.h"

namespace sandkeep {

// A stream from the agent, pulled: Next issues one read and nothing is read ahead, so that a slow
// reader stops the agent through HTTP/2's flow control. Destroying it cancels the call and never
// waits. A Next whose wait is cancelled answers Cancelled, one whose time is over DeadlineExceeded;
// both take nothing from the stream: the next Next goes on where it was. One Next at a time.
template <typename Message>
class AgentStream {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  virtual ~AgentStream() = default;
  // nullopt: the stream ended well. After the end, the same answer again.
  virtual Async<std::optional<Message>> NextBefore(TimePoint until) = 0;
  Async<std::optional<Message>> Next() { return NextBefore(TimePoint::max()); }
};

// For implementations: what a wait without an answer answers.
inline absl::Status NothingBefore(std::chrono::steady_clock::time_point until) {
  if (std::chrono::steady_clock::now() < until) {
    return absl::CancelledError("the wait was cancelled");
  }
  return absl::DeadlineExceededError("nothing came in time");
}

using JobEventStream = std::unique_ptr<AgentStream<agent::v1::JobEvent>>;
using FileChunkStream = std::unique_ptr<AgentStream<agent::v1::FileChunk>>;

// A file on its way to the agent. Write resumes when gRPC has taken the data, so that a slow disk
// stops whoever sends. Destroying it before Finish has answered cancels the call, and never waits:
// of a plain file nothing is left then, of an upload what was received. One call at a time.
class FileSink {
 public:
  virtual ~FileSink() = default;
  // At most kMaxFileChunk. False: the agent takes no more, and Finish says why.
  virtual boost::asio::awaitable<bool> Write(std::string data) = 0;
  // Once: there is no more.
  virtual Async<agent::v1::WriteFileResponse> Finish() = 0;
};

class AgentClient {
 public:
  virtual ~AgentClient() = default;

  // The streams have no deadline of their own: whoever pulls decides how long to wait.
  virtual JobEventStream StartJob(agent::v1::StartJobRequest request) = 0;
  virtual JobEventStream WatchJob(agent::v1::WatchJobRequest request) = 0;
  virtual FileChunkStream ReadFile(agent::v1::ReadFileRequest request) = 0;
  virtual std::unique_ptr<FileSink> WriteFile(agent::v1::WriteFileHeader header) = 0;

  virtual Async<agent::v1::SendInputResponse> SendInput(agent::v1::SendInputRequest request) = 0;
  virtual Async<agent::v1::SignalJobResponse> SignalJob(agent::v1::SignalJobRequest request) = 0;
  virtual Async<agent::v1::ListJobsResponse> ListJobs(agent::v1::ListJobsRequest request) = 0;
  virtual Async<agent::v1::ReadOutputResponse> ReadOutput(agent::v1::ReadOutputRequest request) = 0;
  virtual Async<agent::v1::ListSandboxesResponse> ListSandboxes(
      agent::v1::ListSandboxesRequest request) = 0;
  virtual Async<agent::v1::Sandbox> GetSandbox(agent::v1::GetSandboxRequest request) = 0;
  virtual Async<agent::v1::RemoveSandboxResponse> RemoveSandbox(
      agent::v1::RemoveSandboxRequest request) = 0;
  virtual Async<agent::v1::Sandbox> Freeze(agent::v1::FreezeRequest request) = 0;
  virtual Async<agent::v1::Sandbox> Thaw(agent::v1::ThawRequest request) = 0;
  virtual Async<agent::v1::FileInfo> StatFile(agent::v1::StatFileRequest request) = 0;
  // Its ticket is for a DescriptorDoor.
  virtual Async<agent::v1::OpenFileResponse> OpenFile(agent::v1::OpenFileRequest request) = 0;
  virtual Async<agent::v1::DeleteFileResponse> DeleteFile(agent::v1::DeleteFileRequest request) = 0;
  virtual Async<agent::v1::ListFilesResponse> ListFiles(agent::v1::ListFilesRequest request) = 0;
  virtual Async<agent::v1::RenderImageResponse> RenderImage(
      agent::v1::RenderImageRequest request) = 0;
  virtual Async<agent::v1::Info> GetInfo(agent::v1::GetInfoRequest request) = 0;
  virtual Async<agent::v1::CollectGarbageResponse> CollectGarbage(
      agent::v1::CollectGarbageRequest request) = 0;
};

// Connects lazily and again whenever needed. Refuses a socket path whose folder somebody else than
// root or the agent could replace: FailedPrecondition.
absl::StatusOr<std::unique_ptr<AgentClient>> ConnectToAgent(const std::string& socket_path);

}  // namespace sandkeep
