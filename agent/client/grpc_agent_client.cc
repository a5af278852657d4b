#include "agent/client/grpc_agent_client.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <sys/un.h>

#include <utility>

#include "agent/client/call.h"
#include "agent/client/grpc_setup.h"
#include "agent/client/grpc_status.h"
#include "common/limits.h"
#include "common/status_macros.h"
#include "common/strings.h"
#include "common/trusted_folder.h"

namespace sandkeep {
namespace {

namespace v1 = agent::v1;

grpc::ChannelArguments MakeArguments() {
  grpc::ChannelArguments arguments;
  // The agent is back within a moment or not at all.
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, kReconnectBackoff.count());
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, kMaxReconnectBackoff.count());
  // In spite of its name, the time that one attempt may take.
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, kConnectDeadline.count());
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, kRpcAliveInterval.count());
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kRpcAliveInterval.count());
  // Otherwise it stops asking after two questions of a silent stream.
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  // A window that grows by probing would hold tens of megabytes for slow readers.
  arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  arguments.SetInt(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, kRpcWindowBytes);
  arguments.SetInt(GRPC_ARG_MAX_METADATA_SIZE, kMaxRpcMetadataBytes);
  arguments.SetMaxReceiveMessageSize(kMaxRpcResponseBytes);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1);
  // What may be tried again, and with which patience, its caller knows.
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  for (const char* const feature : kUnusedGrpcFeatures) arguments.SetInt(feature, 0);
  // Two clients of one process share no connection.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return arguments;
}

// What the calls of one client share; streams keep it alive.
struct Connection {
  explicit Connection(const std::string& path)
      : socket_path(path),
        channel(grpc::CreateCustomChannel("unix:" + path, grpc::experimental::LocalCredentials(UDS),
                                          MakeArguments())),
        stub(v1::Agent::NewStub(channel)),
        in_flight(std::make_shared<InFlight>()) {}

  // gRPC's words for "nobody is there" help nobody; the agent's own UNAVAILABLE passes as it is.
  absl::Status Explain(const grpc::Status& status) const {
    const bool connected = channel->GetState(false) == GRPC_CHANNEL_READY;
    if (status.error_code() != grpc::StatusCode::UNAVAILABLE || connected) return FromGrpc(status);
    return absl::UnavailableError(
        StrCat("sandkeep-agent isn't answering on ", socket_path, ": ", status.error_message()));
  }

  const std::string socket_path;
  const std::shared_ptr<grpc::Channel> channel;
  const std::unique_ptr<v1::Agent::Stub> stub;
  const std::shared_ptr<InFlight> in_flight;
};

using ConnectionPtr = std::shared_ptr<const Connection>;

template <typename Request, typename Response>
Async<Response> Unary(ConnectionPtr connection, UnaryMethod<Request, Response> method,
                      Request request, std::chrono::seconds deadline = kRpcDeadline) {
  const auto call = std::make_shared<UnaryCall<Request, Response>>(std::move(request));
  call->context().set_deadline(std::chrono::system_clock::now() + deadline);
  call->Start(connection->stub->async(), connection->in_flight, method);
  auto waiting = call->Wait();
  const grpc::Status status = co_await std::move(waiting);
  if (!status.ok()) co_return connection->Explain(status);
  co_return std::move(call->response());
}

template <typename Request, typename Message>
class Stream : public AgentStream<Message> {
 public:
  using Call = StreamCall<Request, Message>;

  Stream(ConnectionPtr connection, StreamMethod<Request, Message> method, Request request)
      : connection_(std::move(connection)), call_(std::make_shared<Call>(std::move(request))) {
    call_->Start(connection_->stub->async(), connection_->in_flight, method);
  }
  ~Stream() override { call_->Cancel(); }

  Async<std::optional<Message>> NextBefore(
      typename AgentStream<Message>::TimePoint until) override {
    if (end_.has_value()) co_return *end_;
    auto waiting = call_->Wait(until);
    typename Call::Item item = co_await std::move(waiting);
    if (item.wait_cancelled) co_return NothingBefore(until);
    if (item.message.has_value()) {
      call_->Taken();
      co_return std::move(item.message);
    }
    end_ = End(item.end);
    co_return *end_;
  }

 private:
  absl::StatusOr<std::optional<Message>> End(const grpc::Status& status) const {
    if (status.ok()) return std::optional<Message>();
    return connection_->Explain(status);
  }

  const ConnectionPtr connection_;
  const std::shared_ptr<Call> call_;
  std::optional<absl::StatusOr<std::optional<Message>>> end_;
};

template <typename Request, typename Message>
std::unique_ptr<AgentStream<Message>> Open(ConnectionPtr connection,
                                           StreamMethod<Request, Message> method, Request request) {
  return std::make_unique<Stream<Request, Message>>(std::move(connection), method,
                                                    std::move(request));
}

class GrpcFileSink : public FileSink {
 public:
  using Call = WriteCall<v1::WriteFileRequest, v1::WriteFileResponse>;

  GrpcFileSink(ConnectionPtr connection, v1::WriteFileHeader header)
      : connection_(std::move(connection)),
        header_(std::move(header)),
        call_(std::make_shared<Call>()) {
    call_->Start(connection_->stub->async(), connection_->in_flight, &AgentStub::WriteFile);
  }
  ~GrpcFileSink() override { call_->Cancel(); }

  boost::asio::awaitable<bool> Write(std::string data) override {
    const bool begun = co_await Begin();
    if (!begun || data.empty()) co_return begun;
    v1::WriteFileRequest part;
    part.set_data(std::move(data));
    auto writing = call_->Write(std::move(part));
    co_return co_await std::move(writing);
  }

  Async<v1::WriteFileResponse> Finish() override {
    co_await Begin();
    auto ending = call_->End();
    const grpc::Status status = co_await std::move(ending);
    if (!status.ok()) co_return connection_->Explain(status);
    co_return std::move(call_->response());
  }

 private:
  boost::asio::awaitable<bool> Begin() {
    if (std::exchange(begun_, true)) co_return true;
    v1::WriteFileRequest part;
    *part.mutable_header() = std::move(header_);
    auto writing = call_->Write(std::move(part));
    co_return co_await std::move(writing);
  }

  const ConnectionPtr connection_;
  v1::WriteFileHeader header_;
  const std::shared_ptr<Call> call_;
  bool begun_ = false;
};

class GrpcAgentClient : public AgentClient {
 public:
  explicit GrpcAgentClient(const std::string& socket_path)
      : connection_(std::make_shared<Connection>(socket_path)) {}
  ~GrpcAgentClient() override { connection_->in_flight->CancelAllAndWait(); }

  JobEventStream StartJob(v1::StartJobRequest request) override {
    return Open<v1::StartJobRequest, v1::JobEvent>(connection_, &AgentStub::StartJob,
                                                   std::move(request));
  }
  JobEventStream WatchJob(v1::WatchJobRequest request) override {
    return Open<v1::WatchJobRequest, v1::JobEvent>(connection_, &AgentStub::WatchJob,
                                                   std::move(request));
  }
  FileChunkStream ReadFile(v1::ReadFileRequest request) override {
    return Open<v1::ReadFileRequest, v1::FileChunk>(connection_, &AgentStub::ReadFile,
                                                    std::move(request));
  }
  std::unique_ptr<FileSink> WriteFile(v1::WriteFileHeader header) override {
    return std::make_unique<GrpcFileSink>(connection_, std::move(header));
  }

  Async<v1::SendInputResponse> SendInput(v1::SendInputRequest request) override {
    return Unary<v1::SendInputRequest, v1::SendInputResponse>(connection_, &AgentStub::SendInput,
                                                              std::move(request));
  }
  Async<v1::SignalJobResponse> SignalJob(v1::SignalJobRequest request) override {
    return Unary<v1::SignalJobRequest, v1::SignalJobResponse>(connection_, &AgentStub::SignalJob,
                                                              std::move(request));
  }
  Async<v1::ListJobsResponse> ListJobs(v1::ListJobsRequest request) override {
    return Unary<v1::ListJobsRequest, v1::ListJobsResponse>(connection_, &AgentStub::ListJobs,
                                                            std::move(request));
  }
  Async<v1::ReadOutputResponse> ReadOutput(v1::ReadOutputRequest request) override {
    return Unary<v1::ReadOutputRequest, v1::ReadOutputResponse>(connection_, &AgentStub::ReadOutput,
                                                                std::move(request));
  }
  Async<v1::ListSandboxesResponse> ListSandboxes(v1::ListSandboxesRequest request) override {
    return Unary<v1::ListSandboxesRequest, v1::ListSandboxesResponse>(
        connection_, &AgentStub::ListSandboxes, std::move(request));
  }
  Async<v1::Sandbox> GetSandbox(v1::GetSandboxRequest request) override {
    return Unary<v1::GetSandboxRequest, v1::Sandbox>(connection_, &AgentStub::GetSandbox,
                                                     std::move(request));
  }
  Async<v1::Sandbox> Freeze(v1::FreezeRequest request) override {
    return Unary<v1::FreezeRequest, v1::Sandbox>(connection_, &AgentStub::Freeze,
                                                 std::move(request));
  }
  Async<v1::Sandbox> Thaw(v1::ThawRequest request) override {
    return Unary<v1::ThawRequest, v1::Sandbox>(connection_, &AgentStub::Thaw, std::move(request));
  }
  Async<v1::RemoveSandboxResponse> RemoveSandbox(v1::RemoveSandboxRequest request) override {
    return Unary<v1::RemoveSandboxRequest, v1::RemoveSandboxResponse>(
        connection_, &AgentStub::RemoveSandbox, std::move(request));
  }
  Async<v1::FileInfo> StatFile(v1::StatFileRequest request) override {
    return Unary<v1::StatFileRequest, v1::FileInfo>(connection_, &AgentStub::StatFile,
                                                    std::move(request));
  }
  Async<v1::OpenFileResponse> OpenFile(v1::OpenFileRequest request) override {
    return Unary<v1::OpenFileRequest, v1::OpenFileResponse>(connection_, &AgentStub::OpenFile,
                                                            std::move(request));
  }
  Async<v1::DeleteFileResponse> DeleteFile(v1::DeleteFileRequest request) override {
    return Unary<v1::DeleteFileRequest, v1::DeleteFileResponse>(connection_, &AgentStub::DeleteFile,
                                                                std::move(request));
  }
  Async<v1::ListFilesResponse> ListFiles(v1::ListFilesRequest request) override {
    return Unary<v1::ListFilesRequest, v1::ListFilesResponse>(connection_, &AgentStub::ListFiles,
                                                              std::move(request));
  }
  Async<v1::RenderImageResponse> RenderImage(v1::RenderImageRequest request) override {
    return Unary<v1::RenderImageRequest, v1::RenderImageResponse>(
        connection_, &AgentStub::RenderImage, std::move(request));
  }
  Async<v1::Info> GetInfo(v1::GetInfoRequest request) override {
    return Unary<v1::GetInfoRequest, v1::Info>(connection_, &AgentStub::GetInfo,
                                               std::move(request));
  }
  Async<v1::CollectGarbageResponse> CollectGarbage(v1::CollectGarbageRequest request) override {
    return Unary<v1::CollectGarbageRequest, v1::CollectGarbageResponse>(
        connection_, &AgentStub::CollectGarbage, std::move(request), kGarbageDeadline);
  }

 private:
  const ConnectionPtr connection_;
};

}  // namespace

std::unique_ptr<AgentClient> MakeGrpcAgentClient(const std::string& socket_path) {
  SetUpGrpc();
  return std::make_unique<GrpcAgentClient>(socket_path);
}

absl::StatusOr<std::unique_ptr<AgentClient>> ConnectToAgent(const std::string& socket_path) {
  if (socket_path.empty() || socket_path.front() != '/' ||
      socket_path.size() >= sizeof(sockaddr_un::sun_path)) {
    return absl::InvalidArgumentError(
        StrCat("the agent's socket must be an absolute path of at most ",
               sizeof(sockaddr_un::sun_path) - 1, " bytes: ", socket_path));
  }
  const std::string folder = socket_path.substr(0, socket_path.find_last_of('/') + 1);
  RETURN_IF_ERROR(CheckTrustedFolder(folder, FolderOwner::kAnyPeer));
  return MakeGrpcAgentClient(socket_path);
}

}  // namespace sandkeep
