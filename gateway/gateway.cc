#include "gateway/gateway.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "agent/client/agent_client.h"
#include "agent/client/descriptor_door.h"
#include "agent/client/single_poller.h"
#include "common/async.h"
#include "common/clock.h"
#include "common/limits.h"
#include "common/log.h"
#include "common/notify.h"
#include "common/pause.h"
#include "common/random.h"
#include "common/selinux_domain.h"
#include "common/status_macros.h"
#include "common/this_process.h"
#include "common/watchdog.h"
#include "gateway/downloads/handler.h"
#include "gateway/downloads/link.h"
#include "gateway/downloads/link_book.h"
#include "gateway/downloads/link_table.h"
#include "gateway/downloads/mime_types.h"
#include "gateway/http/mcp_transport.h"
#include "gateway/http/rate_limit.h"
#include "gateway/http/router.h"
#include "gateway/http/server.h"
#include "gateway/keys/access_keys.h"
#include "gateway/mcp/workspace_resources.h"
#include "gateway/oauth/server.h"
#include "gateway/self_sandbox.h"
#include "gateway/store/database.h"
#include "gateway/store/state_dir.h"
#include "gateway/uploads/handler.h"
#include "gateway/uploads/uploads.h"

namespace sandkeep {
namespace {

namespace asio = boost::asio;

void RunThreads(asio::io_context& io) {
  std::vector<std::thread> others;
  for (int i = 1; i < kGatewayThreads; ++i) others.emplace_back([&io] { io.run(); });
  io.run();
  for (std::thread& thread : others) thread.join();
}

asio::awaitable<void> SweepUploads(Uploads& uploads) {
  for (;;) {
    co_await uploads.Sweep();
    co_await Pause(kUploadSweepInterval);
  }
}

asio::awaitable<void> RefreshCertificates(http::Certificates& certificates) {
  for (;;) {
    co_await Pause(kCertificateLook);
    certificates.Refresh();
  }
}

absl::StatusOr<std::unique_ptr<http::Certificates>> LoadCertificates(
    const GatewaySettings& settings) {
  if (settings.tls.empty()) return nullptr;
  return http::Certificates::Load(settings.tls, SystemClock());
}

// What it uses when it is confined.
Reach ReachOf(const GatewaySettings& settings, const http::Certificates* certificates) {
  // How many processors there are: gRPC and the C library ask.
  Reach reach{.written = {settings.state_dir}, .read = {"/sys/devices/system/cpu"}};
  if (certificates != nullptr) {
    for (std::string& folder : certificates->Folders()) reach.read.push_back(std::move(folder));
  }
  const char* manager = std::getenv("NOTIFY_SOCKET");
  reach.abstract_sockets = manager != nullptr && *manager == '@';
  return reach;
}

void DrainOnSignal(asio::signal_set& signals, asio::io_context& io, http::Server& server) {
  signals.async_wait([&io, &server](const boost::system::error_code& error, int signal) {
    if (error) return;
    Log(Severity::kInfo, "gateway.stopping", {{"signal", signal}});
    Notify("STOPPING=1").IgnoreError();
    server.Drain(kDrainDeadline, [&io] { io.stop(); });
  });
}

// As in the system that the setting comes from, links end with the key that was there before.
absl::Status GiveOwnerKey(const Secret& key, KeyTable& keys, LinkTable& links) {
  if (key.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const bool replaced, keys.GiveOwner(key, SystemRandom(), SystemClock()));
  Log(Severity::kWarning, "keys.owner",
      {{"what", "SANDBOX_API_KEY is the access key of the principal `owner`"},
       {"remedy", "for keys that are shown once and kept nowhere: `sandkeep-gateway keys add`"}});
  if (!replaced) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::string owner, keys.PrincipalOf(kOwnerName));
  return links.RevokeAllOf(owner);
}

}  // namespace

absl::Status Serve(GatewaySettings settings, mcp::Registry registry) {
  RETURN_IF_ERROR(GiveUpPrivileges());
  ReportSelinuxDomain("sandkeep_gateway_t");
  RaiseDescriptorLimit();
  RETURN_IF_ERROR(PrepareStateDir(settings.state_dir));
  ASSIGN_OR_RETURN(const UniqueFd lock, LockStateDir(settings.state_dir));
  ASSIGN_OR_RETURN(Database db, OpenGatewayDatabase(settings.state_dir));
  ASSIGN_OR_RETURN(Database links_db, OpenGatewayDatabase(settings.state_dir));
  LinkTable link_table(std::move(links_db));
  ASSIGN_OR_RETURN(const bool sign_key_taken,
                   link_table.Prepare(settings.sign_key, SystemRandom(), SystemClock()));
  if (!sign_key_taken) {
    Log(Severity::kWarning, "links.sign_key_ignored",
        {{"why", "MCP_SIGN_KEY is only the first key, and the keys were rotated since"},
         {"remedy", "for another key run `sandkeep-gateway links rotate`, and unset it"}});
  }
  KeyTable key_table(std::move(db));
  RETURN_IF_ERROR(GiveOwnerKey(settings.owner_key, key_table, link_table));
  ASSIGN_OR_RETURN(LinkSecrets link_secrets, link_table.Load());
  LinkBook link_book(std::move(link_secrets));
  ASSIGN_OR_RETURN(http::HostPolicy policy, http::HostPolicy::Make(settings.names));
  const MimeTypes types = MimeTypes::Load();
  settings.endpoint.mime_type_of = [&types](std::string_view name) {
    return std::string(types.Of(name));
  };
  LinkSigner links(link_book, settings.link_lifetimes, SystemClock(), policy.download_base());
  asio::io_context io(kGatewayThreads);
  ASSIGN_OR_RETURN(const std::unique_ptr<http::Certificates> certificates,
                   LoadCertificates(settings));
  ASSIGN_OR_RETURN(http::Server::Acceptor acceptor,
                   http::Server::Listen(io, settings.host, settings.port));

  // From here on it is confined; the first thread comes after it.
  RETURN_IF_ERROR(Confine(ReachOf(settings, certificates.get())));
  asio::signal_set signals(io, SIGTERM, SIGINT);
  const auto poller = HoldSinglePoller();
  ASSIGN_OR_RETURN(const std::unique_ptr<AgentClient> agent, ConnectToAgent(settings.agent_socket));
  ASSIGN_OR_RETURN(const std::unique_ptr<AccessKeys> keys,
                   AccessKeys::Start(std::move(key_table), SystemClock(),
                                     [&] { return link_book.ReadAgain(link_table); }));
  ASSIGN_OR_RETURN(Database sign_ins, OpenGatewayDatabase(settings.state_dir));
  ASSIGN_OR_RETURN(const std::unique_ptr<oauth::Server> oauth,
                   oauth::Server::Start(std::move(sign_ins), *keys, SystemRandom(), SystemClock()));
  ASSIGN_OR_RETURN(Database uploads_db, OpenGatewayDatabase(settings.state_dir));
  ASSIGN_OR_RETURN(const std::unique_ptr<Uploads> uploads,
                   Uploads::Start(std::move(uploads_db), *agent, SystemRandom(), SystemClock()));
  settings.endpoint.uploads = uploads.get();
  registry.resources.push_back(
      std::make_unique<mcp::WorkspaceResources>(*agent, settings.endpoint));
  const std::unique_ptr<mcp::Endpoint> endpoint = mcp::MakeEndpoint(
      *agent, links, SystemClock(), SystemRandom(), settings.endpoint, std::move(registry));

  http::Server::Options options;
  options.tls = certificates.get();
  options.one_thread = kGatewayThreads == 1;
  http::McpTransport transport(*endpoint, options.timing);
  DescriptorDoor door(io.get_executor(), settings.agent_socket);
  DownloadHandler downloads(*agent, &door, links, types, *keys);
  UploadHandler upload_pages(*agent, *uploads, *keys);
  http::RateLimit rate(settings.request_rate, SystemClock());
  http::Router router(std::move(policy), {.keys = *keys,
                                          .rate = rate,
                                          .mcp = transport,
                                          .downloads = downloads,
                                          .uploads = &upload_pages,
                                          .oauth = oauth.get(),
                                          .tokens = &oauth->tokens(),
                                          .proxies = &settings.proxies});
  http::Server server(io, std::move(acceptor), router, options);
  DrainOnSignal(signals, io, server);
  server.Start();
  Spawn(io.get_executor(), "uploads.sweep", SweepUploads(*uploads));
  Log(Severity::kInfo, "gateway.listening",
      {{"address", server.address()},
       {"tls", certificates != nullptr},
       {"version", SANDKEEP_VERSION}});
  if (keys->empty()) {
    Log(Severity::kWarning, "gateway.no_keys",
        {{"remedy", "nobody can use the gateway yet: run `sandkeep-gateway keys add NAME`"}});
  }
  if (const absl::Status told = Notify("READY=1"); !told.ok()) {
    Log(Severity::kWarning, "gateway.notify", {{"why", told}});
  }
  if (certificates != nullptr) {
    Spawn(io.get_executor(), "tls.refresh", RefreshCertificates(*certificates));
  }
  Spawn(io.get_executor(), "watchdog", FeedWatchdog());
  RunThreads(io);
  Log(Severity::kInfo, "gateway.stopped");
  // What threads of gRPC still deliver must find everything in its place.
  std::_Exit(0);
}

}  // namespace sandkeep
