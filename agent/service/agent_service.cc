#include "agent/service/agent_service.h"

#include <chrono>
#include <utility>

#include "agent/service/authorize.h"
#include "agent/service/call_count.h"
#include "agent/service/call_rate.h"
#include "agent/service/handlers.h"
#include "agent/service/reactor.h"
#include "agent/service/rpc_table.h"
#include "common/status_macros.h"
#include "common/strings.h"
#include "sandkeep/agent/v1/agent.grpc.pb.h"

namespace sandkeep {
namespace {

namespace v1 = agent::v1;

using Context = grpc::CallbackServerContext;
using UnaryAnswer = grpc::ServerUnaryReactor;
template <typename Message>
using Writer = grpc::ServerWriteReactor<Message>;

// What a caller that leaves does to its call.
enum class OnLeave { kStop, kGoOn };

class AgentService : public v1::Agent::CallbackService {
 public:
  AgentService(boost::asio::any_io_executor executor, SandboxManager& manager, FileServices files,
               HostFacts facts, Peer peer)
      : executor_(std::move(executor)),
        handlers_(manager, files, std::move(facts), std::move(peer)),
        calls_(kMaxCallsPerUid),
        rate_(std::chrono::steady_clock::now()) {}

  Writer<v1::JobEvent>* StartJob(Context*, const v1::StartJobRequest* request) override {
    return Stream(RpcOf("StartJob"), &Handlers::StartJob, request);
  }
  Writer<v1::JobEvent>* WatchJob(Context*, const v1::WatchJobRequest* request) override {
    return Stream(RpcOf("WatchJob"), &Handlers::WatchJob, request);
  }
  Writer<v1::FileChunk>* ReadFile(Context*, const v1::ReadFileRequest* request) override {
    return Stream(RpcOf("ReadFile"), &Handlers::ReadFile, request);
  }

  UnaryAnswer* SendInput(Context*, const v1::SendInputRequest* request,
                         v1::SendInputResponse* response) override {
    return Unary(RpcOf("SendInput"), OnLeave::kGoOn, &Handlers::SendInput, request, response);
  }
  UnaryAnswer* SignalJob(Context*, const v1::SignalJobRequest* request,
                         v1::SignalJobResponse* response) override {
    return Unary(RpcOf("SignalJob"), OnLeave::kGoOn, &Handlers::SignalJob, request, response);
  }
  UnaryAnswer* ListJobs(Context*, const v1::ListJobsRequest* request,
                        v1::ListJobsResponse* response) override {
    return Unary(RpcOf("ListJobs"), OnLeave::kStop, &Handlers::ListJobs, request, response);
  }
  UnaryAnswer* ReadOutput(Context* context, const v1::ReadOutputRequest* request,
                          v1::ReadOutputResponse* response) override {
    return AtOnceOrLater(RpcOf("ReadOutput"), &Handlers::ReadOutputNow, &Handlers::ReadOutput,
                         *context, request, response);
  }
  UnaryAnswer* ListSandboxes(Context*, const v1::ListSandboxesRequest* request,
                             v1::ListSandboxesResponse* response) override {
    return Unary(RpcOf("ListSandboxes"), OnLeave::kStop, &Handlers::ListSandboxes, request,
                 response);
  }
  UnaryAnswer* GetSandbox(Context* context, const v1::GetSandboxRequest* request,
                          v1::Sandbox* response) override {
    return AtOnce(RpcOf("GetSandbox"), &Handlers::GetSandbox, *context, request, response);
  }
  UnaryAnswer* RemoveSandbox(Context*, const v1::RemoveSandboxRequest* request,
                             v1::RemoveSandboxResponse* response) override {
    return Unary(RpcOf("RemoveSandbox"), OnLeave::kGoOn, &Handlers::RemoveSandbox, request,
                 response);
  }
  UnaryAnswer* Freeze(Context*, const v1::FreezeRequest* request, v1::Sandbox* response) override {
    return Unary(RpcOf("Freeze"), OnLeave::kGoOn, &Handlers::Freeze, request, response);
  }
  UnaryAnswer* Thaw(Context*, const v1::ThawRequest* request, v1::Sandbox* response) override {
    return Unary(RpcOf("Thaw"), OnLeave::kGoOn, &Handlers::Thaw, request, response);
  }
  UnaryAnswer* StatFile(Context*, const v1::StatFileRequest* request,
                        v1::FileInfo* response) override {
    return Unary(RpcOf("StatFile"), OnLeave::kStop, &Handlers::StatFile, request, response);
  }
  grpc::ServerReadReactor<v1::WriteFileRequest>* WriteFile(
      Context*, v1::WriteFileResponse* response) override {
    const Rpc& rpc = RpcOf("WriteFile");
    auto place = Admit(rpc, 0);
    if (!place.ok()) {
      return Settled<grpc::ServerReadReactor<v1::WriteFileRequest>>::Make(place.status());
    }
    auto work = [this, response](Handlers::FileParts& parts) {
      return handlers_.WriteFile(parts, *response);
    };
    return ReadReactor<v1::WriteFileRequest>::Start(executor_, *std::move(place), work);
  }
  UnaryAnswer* OpenFile(Context*, const v1::OpenFileRequest* request,
                        v1::OpenFileResponse* response) override {
    return Unary(RpcOf("OpenFile"), OnLeave::kStop, &Handlers::OpenFile, request, response);
  }
  UnaryAnswer* DeleteFile(Context*, const v1::DeleteFileRequest* request,
                          v1::DeleteFileResponse* response) override {
    return Unary(RpcOf("DeleteFile"), OnLeave::kGoOn, &Handlers::DeleteFile, request, response);
  }
  UnaryAnswer* ListFiles(Context*, const v1::ListFilesRequest* request,
                         v1::ListFilesResponse* response) override {
    return Unary(RpcOf("ListFiles"), OnLeave::kStop, &Handlers::ListFiles, request, response);
  }
  UnaryAnswer* RenderImage(Context*, const v1::RenderImageRequest* request,
                           v1::RenderImageResponse* response) override {
    return Unary(RpcOf("RenderImage"), OnLeave::kStop, &Handlers::RenderImage, request, response);
  }
  UnaryAnswer* GetInfo(Context*, const v1::GetInfoRequest* request, v1::Info* response) override {
    return Unary(RpcOf("GetInfo"), OnLeave::kStop, &Handlers::GetInfo, request, response);
  }
  UnaryAnswer* CollectGarbage(Context*, const v1::CollectGarbageRequest* request,
                              v1::CollectGarbageResponse* response) override {
    return Unary(RpcOf("CollectGarbage"), OnLeave::kStop, &Handlers::CollectGarbage, request,
                 response);
  }

  // Of the contract, and not served by this version.
  UnaryAnswer* ResizeTerminal(Context*, const v1::ResizeTerminalRequest*,
                              v1::ResizeTerminalResponse*) override {
    return NotServed<UnaryAnswer>(RpcOf("ResizeTerminal"));
  }
  UnaryAnswer* RemoveVolume(Context*, const v1::RemoveVolumeRequest*,
                            v1::RemoveVolumeResponse*) override {
    return NotServed<UnaryAnswer>(RpcOf("RemoveVolume"));
  }
  Writer<v1::Event>* WatchEvents(Context*, const v1::WatchEventsRequest*) override {
    return NotServed<Writer<v1::Event>>(RpcOf("WatchEvents"));
  }
  UnaryAnswer* ReadAudit(Context*, const v1::ReadAuditRequest*, v1::ReadAuditResponse*) override {
    return NotServed<UnaryAnswer>(RpcOf("ReadAudit"));
  }
  UnaryAnswer* GetMetrics(Context*, const v1::GetMetricsRequest*, v1::Metrics*) override {
    return NotServed<UnaryAnswer>(RpcOf("GetMetrics"));
  }

 private:
  template <typename Reactor>
  Reactor* NotServed(const Rpc& rpc) {
    const absl::Status allowed = MayCall(handlers_.peer(), rpc);
    if (!allowed.ok()) return Settled<Reactor>::Make(allowed);
    return Settled<Reactor>::Make(
        absl::UnimplementedError(StrCat(rpc.name, " is not served by this version")));
  }

  // Who may not call, or asks for too much, costs no coroutine.
  absl::StatusOr<CallCount::Place> Admit(const Rpc& rpc, std::size_t request_bytes) {
    RETURN_IF_ERROR(MayCall(handlers_.peer(), rpc));
    if (request_bytes > rpc.max_request_bytes) {
      return absl::InvalidArgumentError(
          StrCat("a request of ", rpc.name, " has at most ", rpc.max_request_bytes, " bytes"));
    }
    if (!rate_.Allows(rpc, std::chrono::steady_clock::now())) {
      return absl::ResourceExhaustedError(
          StrCat("more than ", rpc.per_second, " calls of ", rpc.name, " in a second"));
    }
    std::optional<CallCount::Place> place = calls_.Take();
    if (!place.has_value()) return absl::ResourceExhaustedError("too many calls at once");
    return *std::move(place);
  }

  // What takes no time and waits for nothing needs no coroutine, and no change of thread.
  template <typename Request, typename Response>
  UnaryAnswer* AtOnce(const Rpc& rpc,
                      absl::Status (Handlers::*method)(const Request&, Response&) const,
                      Context& context, const Request* request, Response* response) {
    UnaryAnswer* const answer = context.DefaultReactor();
    const auto place = Admit(rpc, request->ByteSizeLong());
    const auto serve = [&] { return (handlers_.*method)(*request, *response); };
    answer->Finish(ToGrpc(place.ok() ? Guarded(serve) : place.status()));
    return answer;
  }

  // As AtOnce if `now` says that this was all, else a coroutine that stops when the caller leaves.
  template <typename Request, typename Response>
  UnaryAnswer* AtOnceOrLater(const Rpc& rpc,
                             absl::StatusOr<bool> (Handlers::*now)(const Request&, Response&) const,
                             Async<void> (Handlers::*later)(const Request&, Response&),
                             Context& context, const Request* request, Response* response) {
    auto place = Admit(rpc, request->ByteSizeLong());
    absl::Status end = place.status();
    if (place.ok()) {
      bool answered = false;
      const auto serve = [&]() -> absl::Status {
        ASSIGN_OR_RETURN(answered, (handlers_.*now)(*request, *response));
        return absl::OkStatus();
      };
      end = Guarded(serve);
      if (end.ok() && !answered) {
        auto work = [this, later, request, response] {
          return (handlers_.*later)(*request, *response);
        };
        return UnaryReactor::Start(executor_, *std::move(place), true, work);
      }
    }
    UnaryAnswer* const answer = context.DefaultReactor();
    answer->Finish(ToGrpc(end));
    return answer;
  }

  template <typename Request, typename Response>
  UnaryAnswer* Unary(const Rpc& rpc, OnLeave on_leave,
                     Async<void> (Handlers::*method)(const Request&, Response&),
                     const Request* request, Response* response) {
    auto place = Admit(rpc, request->ByteSizeLong());
    if (!place.ok()) return Settled<UnaryAnswer>::Make(place.status());
    auto work = [this, method, request, response] {
      return (handlers_.*method)(*request, *response);
    };
    return UnaryReactor::Start(executor_, *std::move(place), on_leave == OnLeave::kStop, work);
  }

  template <typename Request, typename Message>
  Writer<Message>* Stream(const Rpc& rpc,
                          Async<void> (Handlers::*method)(const Request&, StreamWriter<Message>&),
                          const Request* request) {
    auto place = Admit(rpc, request->ByteSizeLong());
    if (!place.ok()) return Settled<Writer<Message>>::Make(place.status());
    auto work = [this, method, request](StreamWriter<Message>& writer) {
      return (handlers_.*method)(*request, writer);
    };
    return StreamReactor<Message>::Start(executor_, *std::move(place), work);
  }

  const boost::asio::any_io_executor executor_;
  Handlers handlers_;
  CallCount calls_;
  CallRate rate_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeAgentService(boost::asio::any_io_executor executor,
                                                SandboxManager& manager, FileServices files,
                                                HostFacts facts, Peer peer) {
  return std::make_unique<AgentService>(std::move(executor), manager, files, std::move(facts),
                                        std::move(peer));
}

}  // namespace sandkeep
