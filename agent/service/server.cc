#include "agent/service/server.h"

#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/impl/codegen/service_type.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <sys/socket.h>

#include <utility>

#include "agent/client/grpc_setup.h"
#include "agent/client/single_poller.h"
#include "agent/peer_listener/peer_listener.h"
#include "agent/service/agent_service.h"
#include "agent/service/descriptor_server.h"
#include "agent/service/file_services.h"
#include "agent/service/file_tickets.h"
#include "common/descriptor_frame.h"
#include "common/limits.h"
#include "common/log.h"
#include "common/random.h"
#include "common/status_macros.h"
#include "common/strings.h"

namespace sandkeep {
namespace {

using Acceptor = grpc::experimental::ExternalConnectionAcceptor;

// One peer's own gRPC server. It listens nowhere: the listener brings it its connections.
class PeerServer {
 public:
  static absl::StatusOr<std::unique_ptr<PeerServer>> Make(std::unique_ptr<grpc::Service> service,
                                                          const grpc::ResourceQuota& memory) {
    grpc::ServerBuilder builder;
    builder.RegisterService(service.get());
    builder.SetResourceQuota(memory);
    builder.SetMaxReceiveMessageSize(kMaxRpcRequestBytes);
    builder.SetMaxSendMessageSize(kMaxRpcResponseBytes);
    for (const char* const feature : kUnusedGrpcFeatures) builder.AddChannelArgument(feature, 0);
    builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, kMaxRpcMetadataBytes);
    builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMaxConcurrentStreams);
    builder.AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, 0);
    // Clients may ask whether we live, which gRPC takes for an attack if it comes more often.
    builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                               static_cast<int>(kRpcAliveInterval.count() / 2));
    builder.AddChannelArgument(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, kRpcWindowBytes);
    builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS,
                               static_cast<int>(kRpcHandshakeDeadline.count()));
    std::unique_ptr<PeerServer> peer(new PeerServer(std::move(service)));
    peer->acceptor_ = builder.experimental().AddExternalConnectionAcceptor(
        grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD,
        grpc::experimental::LocalServerCredentials(UDS));
    peer->server_ = builder.BuildAndStart();
    if (peer->server_ == nullptr) return absl::InternalError("gRPC didn't start; see its log");
    return peer;
  }

  ~PeerServer() {
    if (server_ == nullptr) return;
    // Every call is cancelled at once; their coroutines end and this returns.
    server_->Shutdown(std::chrono::system_clock::now());
    server_->Wait();
  }

  // May be called after our end: gRPC ignores it then.
  std::function<void(UniqueFd)> Taker() {
    return [acceptor = acceptor_](UniqueFd connection) {
      Acceptor::NewConnectionParameters parameters;
      parameters.listener_fd = -1;
      parameters.fd = connection.Release();
      acceptor->HandleNewConnection(&parameters);
    };
  }

 private:
  explicit PeerServer(std::unique_ptr<grpc::Service> service) : service_(std::move(service)) {}

  const std::unique_ptr<grpc::Service> service_;
  std::shared_ptr<Acceptor> acceptor_;
  std::unique_ptr<grpc::Server> server_;
};

class Server : public AgentServer {
 public:
  ~Server() override {
    if (listener_ != nullptr) listener_->Stop();
    if (descriptor_listener_ != nullptr) descriptor_listener_->Stop();
    // Before the disk and the imager that their calls use.
    peers_.clear();
  }

  absl::Status Start(boost::asio::any_io_executor executor, SandboxManager& manager,
                     const HostFacts& facts, const ServerOptions& options) {
    if (options.peers.empty()) {
      return absl::FailedPreconditionError(
          "nobody may call the agent: set AGENT_FRONTEND_UIDS or AGENT_OPERATOR_UIDS");
    }
    grpc::ResourceQuota memory("agent");
    memory.Resize(kRpcMemoryBytes);
    imager_ = std::make_unique<Imager>(options.imager_path);
    descriptors_ = std::make_shared<DescriptorServer>(executor);
    std::vector<PeerRoute> routes;
    std::vector<PeerRoute> descriptor_routes;
    for (const Peer& peer : options.peers) {
      const auto tickets = std::make_shared<FileTickets>(executor, SystemRandom());
      auto service =
          MakeAgentService(executor, manager, {disk_, *imager_, placed_, tickets}, facts, peer);
      ASSIGN_OR_RETURN(std::unique_ptr<PeerServer> server,
                       PeerServer::Make(std::move(service), memory));
      routes.push_back({.uid = peer.uid, .take = server->Taker()});
      descriptor_routes.push_back({.uid = peer.uid, .take = HandOver(tickets)});
      peers_.push_back(std::move(server));
    }
    ASSIGN_OR_RETURN(listener_, ListenForPeers(executor, options.socket_path, SOCK_STREAM,
                                               options.socket_group, std::move(routes)));
    ListenForTickets(executor, options, std::move(descriptor_routes));
    return absl::OkStatus();
  }

 private:
  std::function<void(UniqueFd)> HandOver(std::shared_ptr<FileTickets> tickets) {
    return [weak = std::weak_ptr(descriptors_), tickets = std::move(tickets)](UniqueFd connection) {
      if (const auto server = weak.lock()) server->Serve(std::move(connection), tickets);
    };
  }

  // Without it files are streamed, which takes more of both ends and nothing else.
  void ListenForTickets(const boost::asio::any_io_executor& executor, const ServerOptions& options,
                        std::vector<PeerRoute> routes) {
    auto listener = ListenForPeers(executor, DescriptorSocketPath(options.socket_path),
                                   SOCK_SEQPACKET, options.socket_group, std::move(routes));
    if (listener.ok()) {
      descriptor_listener_ = *std::move(listener);
    } else {
      Log(Severity::kWarning, "agent.no_descriptors", {{"why", listener.status()}});
    }
  }

  // Outlives the servers.
  const std::shared_ptr<const SinglePoller> poller_ = HoldSinglePoller();
  FileDisk disk_;
  PlacedParts placed_;
  std::unique_ptr<Imager> imager_;
  std::vector<std::unique_ptr<PeerServer>> peers_;
  std::shared_ptr<PeerListener> listener_;
  std::shared_ptr<DescriptorServer> descriptors_;
  std::shared_ptr<PeerListener> descriptor_listener_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<AgentServer>> StartAgentServer(boost::asio::any_io_executor executor,
                                                              SandboxManager& manager,
                                                              HostFacts facts,
                                                              ServerOptions options) {
  SetUpGrpc();
  grpc::EnableDefaultHealthCheckService(true);
  auto server = std::make_unique<Server>();
  RETURN_IF_ERROR(server->Start(std::move(executor), manager, facts, options));
  return server;
}

}  // namespace sandkeep
