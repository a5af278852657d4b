// What each served method does, as coroutines over the sandbox manager: validate, check the peer,
// act, answer. Knows messages but no gRPC. One instance a peer; each call on its own strand.
//
// Requests and responses outlive their call.
#pragma once

#include "agent/peer_listener/peer.h"
#include "agent/sandbox/sandbox_manager.h"
#include "agent/service/file_services.h"
#include "agent/service/host_facts.h"
#include "agent/service/reactor.h"
#include "agent/service/rpc_table.h"
#include "sandkeep/agent/v1/agent.pb.h"

namespace sandkeep {

class Handlers {
 public:
  using JobEvents = StreamWriter<agent::v1::JobEvent>;
  using FileChunks = StreamWriter<agent::v1::FileChunk>;
  using FileParts = StreamReader<agent::v1::WriteFileRequest>;

  Handlers(SandboxManager& manager, FileServices files, HostFacts facts, Peer peer);

  Async<void> StartJob(const agent::v1::StartJobRequest& request, JobEvents& events);
  Async<void> WatchJob(const agent::v1::WatchJobRequest& request, JobEvents& events);
  Async<void> ReadFile(const agent::v1::ReadFileRequest& request, FileChunks& chunks);
  Async<void> WriteFile(FileParts& parts, agent::v1::WriteFileResponse& response);

  Async<void> SendInput(const agent::v1::SendInputRequest& request,
                        agent::v1::SendInputResponse& response);
  Async<void> SignalJob(const agent::v1::SignalJobRequest& request,
                        agent::v1::SignalJobResponse& response);
  Async<void> ListJobs(const agent::v1::ListJobsRequest& request,
                       agent::v1::ListJobsResponse& response);
  Async<void> ReadOutput(const agent::v1::ReadOutputRequest& request,
                         agent::v1::ReadOutputResponse& response);
  // The same at once, on gRPC's own thread, where nothing can change any more. False: it can't.
  absl::StatusOr<bool> ReadOutputNow(const agent::v1::ReadOutputRequest& request,
                                     agent::v1::ReadOutputResponse& response) const;
  Async<void> ListSandboxes(const agent::v1::ListSandboxesRequest& request,
                            agent::v1::ListSandboxesResponse& response);
  // At once, on gRPC's own thread: every download asks it.
  absl::Status GetSandbox(const agent::v1::GetSandboxRequest& request,
                          agent::v1::Sandbox& response) const;
  Async<void> RemoveSandbox(const agent::v1::RemoveSandboxRequest& request,
                            agent::v1::RemoveSandboxResponse& response);
  Async<void> Freeze(const agent::v1::FreezeRequest& request, agent::v1::Sandbox& response);
  Async<void> Thaw(const agent::v1::ThawRequest& request, agent::v1::Sandbox& response);
  Async<void> StatFile(const agent::v1::StatFileRequest& request, agent::v1::FileInfo& response);
  Async<void> OpenFile(const agent::v1::OpenFileRequest& request,
                       agent::v1::OpenFileResponse& response);
  Async<void> DeleteFile(const agent::v1::DeleteFileRequest& request,
                         agent::v1::DeleteFileResponse& response);
  Async<void> ListFiles(const agent::v1::ListFilesRequest& request,
                        agent::v1::ListFilesResponse& response);
  Async<void> RenderImage(const agent::v1::RenderImageRequest& request,
                          agent::v1::RenderImageResponse& response);
  Async<void> GetInfo(const agent::v1::GetInfoRequest& request, agent::v1::Info& response);
  Async<void> CollectGarbage(const agent::v1::CollectGarbageRequest& request,
                             agent::v1::CollectGarbageResponse& response);

  const Peer& peer() const { return peer_; }

 private:
  // Whether the peer may use this sandbox. One that it names by a link's key and that belongs to
  // another front end's principal is NotFound, as if there were none.
  absl::Status Admit(const Rpc& rpc, const SandboxRef& ref) const;

  // What became of an upload's part that isn't there any more. NotFound: nothing is known of it.
  absl::StatusOr<SandboxFile> FindPlaced(const SandboxRef& ref, const RelPath& part) const;

  // Until the job's outcome, the end of what there is, or the reader's going.
  Async<void> Follow(std::unique_ptr<JobWatcher> watcher, JobEvents& events);

  SandboxManager& manager_;
  FileServices files_;
  const HostFacts facts_;
  const Peer peer_;
};

}  // namespace sandkeep
