// A whole HTTP front on a port of the kernel's choice: real sockets, real keys in a real database,
// a scripted endpoint and a fake agent behind it.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "common/random.h"
#include "common/strings.h"
#include "gateway/downloads/handler.h"
#include "gateway/downloads/link.h"
#include "gateway/downloads/mime_types.h"
#include "gateway/http/mcp_transport.h"
#include "gateway/http/rate_limit.h"
#include "gateway/http/router.h"
#include "gateway/http/server.h"
#include "gateway/keys/access_keys.h"
#include "gateway/store/database.h"
#include "tests/fakes/fake_agent_client.h"
#include "tests/fakes/fake_clock.h"
#include "tests/unit/gateway/http/raw_client.h"

namespace sandkeep {

class ScriptedEndpoint : public mcp::Endpoint {
 public:
  using Script = std::function<boost::asio::awaitable<mcp::Reply>(mcp::Request, mcp::EventSink&)>;

  boost::asio::awaitable<mcp::Reply> Handle(mcp::Request request, mcp::EventSink& events) override {
    return script(std::move(request), events);
  }

  Script script;
};

class GatewayFixture : public testing::Test {
 protected:
  GatewayFixture() {
    std::string name = testing::TempDir() + "gateway-XXXXXX";
    folder_ = ::mkdtemp(name.data());
    KeyTable table(*OpenGatewayDatabase(folder_));
    key_ = std::string(table.Add("ann", SystemRandom(), clock_)->Reveal());
    principal_ = *table.PrincipalOf("ann");
    keys_ = *AccessKeys::Start(std::move(table), clock_);
    names_.listen_host = "127.0.0.1";
    // As the gateway runs it; a fixture may have more.
    options_.one_thread = true;
  }
  ~GatewayFixture() override {
    io_.stop();
    for (std::thread& thread : threads_) thread.join();
    // Its timers are the io_context's, which in its turn goes before all that coroutines use.
    server_.reset();
    std::filesystem::remove_all(folder_);
  }

  // After the test has changed names_, options_ or rate_.
  void StartServer() {
    rate_limit_ = std::make_unique<http::RateLimit>(rate_, clock_);
    auto policy = http::HostPolicy::Make(names_);
    ASSERT_TRUE(policy.ok()) << policy.status();
    downloads_ = std::make_unique<DownloadHandler>(*file_agent_, door_, links_, types_, *keys_);
    transport_ = std::make_unique<http::McpTransport>(endpoint_, options_.timing);
    router_ = std::make_unique<http::Router>(*policy, http::Router::Parts{.keys = *keys_,
                                                                          .rate = *rate_limit_,
                                                                          .mcp = *transport_,
                                                                          .downloads = *downloads_,
                                                                          .uploads = uploads_,
                                                                          .oauth = oauth_,
                                                                          .tokens = tokens_});
    auto acceptor = http::Server::Listen(io_, "127.0.0.1", 0);
    ASSERT_TRUE(acceptor.ok()) << acceptor.status();
    server_ = std::make_unique<http::Server>(io_, *std::move(acceptor), *router_, options_);
    server_->Start();
    const int threads = options_.one_thread ? 1 : 2;
    for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { io_.run(); });
  }

  RawClient Connect() { return RawClient(server_->port()); }

  std::string Host() const { return StrCat("127.0.0.1:", server_->port()); }

  std::string Get(std::string_view target, std::string_view more = "",
                  std::string_view method = "GET") const {
    return StrCat(method, " ", target, " HTTP/1.1\r\nHost: ", Host(), "\r\n", more, "\r\n");
  }
  std::string Post(std::string_view body, std::string_view more = "") const {
    return StrCat("POST /mcp HTTP/1.1\r\nHost: ", Host(), "\r\nAuthorization: Bearer ", key_,
                  "\r\nContent-Length: ", body.size(), "\r\n", more, "\r\n", body);
  }
  // The answer to one request on a connection of its own.
  std::string Ask(std::string_view request) {
    RawClient client = Connect();
    return client.Send(request).Answer(request.substr(0, 5) == "HEAD ");
  }
  int StatusOf(std::string_view request) { return RawClient::StatusOf(Ask(request)); }

  std::string folder_;
  FakeClock clock_;
  std::string key_;
  std::string principal_;
  std::unique_ptr<AccessKeys> keys_;
  ScriptedEndpoint endpoint_;
  FakeAgentClient agent_;
  // Of whom files are asked; a fixture may set others.
  AgentClient* file_agent_ = &agent_;
  DescriptorDoor* door_ = nullptr;
  LinkBook link_book_{
      LinkSecrets{.keys = {{.secret = Secret("a signing key")}}, .epochs = {}, .revoked = {}}};
  LinkSigner links_{link_book_, LinkLifetimes(std::chrono::seconds(3600)), clock_};
  MimeTypes types_ = MimeTypes::Load("/nonexistent");
  std::unique_ptr<DownloadHandler> downloads_;
  // Set by fixtures that hand files in.
  http::Handler* uploads_ = nullptr;
  // Set by fixtures that sign in.
  http::Handler* oauth_ = nullptr;
  http::TokenBook* tokens_ = nullptr;
  http::HostPolicySettings names_;
  http::Server::Options options_;
  int rate_ = 0;
  std::unique_ptr<http::RateLimit> rate_limit_;
  std::unique_ptr<http::McpTransport> transport_;
  std::unique_ptr<http::Router> router_;
  std::unique_ptr<http::Server> server_;
  boost::asio::io_context io_{2};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_{
      io_.get_executor()};
  std::vector<std::thread> threads_;
};

}  // namespace sandkeep
