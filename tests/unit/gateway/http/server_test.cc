// The HTTP front on real sockets: who is let in, what is refused, and that nothing a client sends,
// or fails to send, keeps it from the next one.

#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <future>

#include "common/limits.h"
#include "common/pending.h"
#include "tests/fakes/patience.h"
#include "tests/unit/gateway/http/gateway_fixture.h"

namespace sandkeep {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;
using testing::Not;

boost::asio::awaitable<mcp::Reply> Echo(mcp::Request request, mcp::EventSink&) {
  mcp::Reply reply;
  reply.body = StrCat("{\"echo\":", request.body.size(), ",\"for\":\"", request.caller.name, "\"}");
  co_return reply;
}

class ServerTest : public GatewayFixture {
 protected:
  ServerTest() { endpoint_.script = Echo; }

  boost::asio::awaitable<mcp::Reply> EchoAfterAWhile(mcp::Request request, mcp::EventSink& events) {
    for (int i = 0; i < 100; ++i) co_await boost::asio::post(io_, boost::asio::use_awaitable);
    co_return co_await Echo(std::move(request), events);
  }

  boost::asio::awaitable<mcp::Reply> EchoWhenReleased(mcp::Request request,
                                                      mcp::EventSink& events) {
    entered_.set_value();
    auto waiting = release_->Take(false);
    co_await std::move(waiting);
    co_return co_await Echo(std::move(request), events);
  }

  std::promise<void> entered_;
  std::shared_ptr<Pending<bool>> release_ = std::make_shared<Pending<bool>>();
};

TEST_F(ServerTest, Routes) {
  StartServer();
  const std::string auth = StrCat("Authorization: Bearer ", key_, "\r\n");
  EXPECT_EQ(StatusOf(Get("/healthz")), 200);
  EXPECT_EQ(StatusOf(Get("/healthz?x=1")), 200);
  EXPECT_EQ(StatusOf(Get("/healthz", "", "HEAD")), 200);
  EXPECT_EQ(StatusOf(Get("/healthz", "", "PUT")), 405);
  EXPECT_EQ(StatusOf(Get("/")), 404);
  EXPECT_EQ(StatusOf(Get("/mcp2")), 404);
  EXPECT_EQ(StatusOf(Get("/dl/nothing")), 404);
  EXPECT_EQ(StatusOf(Get("/dl/nothing", "Content-Length: 0\r\n", "POST")), 405);
  for (const char* path : {"/mcp", "/mcp/"}) {
    EXPECT_EQ(StatusOf(Get(path)), 401) << path;
    EXPECT_EQ(StatusOf(Get(path, auth)), 405) << path;
    EXPECT_EQ(StatusOf(Get(path, auth, "DELETE")), 405) << path;
    EXPECT_EQ(StatusOf(Get(path, auth, "PUT")), 405) << path;
    EXPECT_EQ(StatusOf(Get(path, "", "DELETE")), 401) << path;
  }
  const std::string unknown = Ask(Get("/.well-known/oauth-protected-resource/mcp"));
  EXPECT_EQ(RawClient::StatusOf(unknown), 404);
  EXPECT_THAT(unknown, HasSubstr("Content-Type: application/json"));
  EXPECT_EQ(
      StatusOf(StrCat("GET http://", Host(), "/healthz HTTP/1.1\r\nHost: ", Host(), "\r\n\r\n")),
      200);
  EXPECT_EQ(StatusOf(StrCat("GET http://other/healthz HTTP/1.1\r\nHost: ", Host(), "\r\n\r\n")),
            404);
}

TEST_F(ServerTest, RoutesStandBelowThePublicBaseToo) {
  names_.public_base = "https://box.example.com/sandbox/";
  std::string base;
  endpoint_.script = [&base](mcp::Request request, mcp::EventSink& events) {
    base = request.public_base;
    return Echo(std::move(request), events);
  };
  StartServer();
  EXPECT_EQ(StatusOf("GET /sandbox/healthz HTTP/1.1\r\nHost: box.example.com\r\n\r\n"), 200);
  EXPECT_EQ(StatusOf("GET /healthz HTTP/1.1\r\nHost: box.example.com\r\n\r\n"), 200);
  EXPECT_EQ(StatusOf("GET /sandboxhealthz HTTP/1.1\r\nHost: box.example.com\r\n\r\n"), 404);
  EXPECT_EQ(StatusOf(Post("{}")), 200);
  EXPECT_EQ(base, "https://box.example.com/sandbox");
}

TEST_F(ServerTest, AuthenticationMatrix) {
  StartServer();
  const auto status = [this](const std::string& header) {
    return StatusOf(Get("/mcp", header, "GET"));
  };
  EXPECT_EQ(status(StrCat("Authorization: Bearer ", key_, "\r\n")), 405);
  EXPECT_EQ(status(StrCat("authorization: bEARER   ", key_, " \r\n")), 405);
  EXPECT_EQ(status(StrCat("Authorization: Basic ", key_, "\r\n")), 401);
  EXPECT_EQ(status(StrCat("Authorization: ", key_, "\r\n")), 401);
  EXPECT_EQ(status("Authorization: Bearer\r\n"), 401);
  EXPECT_EQ(status("Authorization: Bearer \r\n"), 401);
  EXPECT_EQ(status(StrCat("Authorization: Bearer ", key_, "x\r\n")), 401);
  EXPECT_EQ(status(StrCat("Authorization: Bearer ", std::string(5000, 'x'), "\r\n")), 401);
  EXPECT_EQ(status(StrCat("Authorization: Bearer ", key_, "\r\nAuthorization: Bearer x\r\n")), 400);

  EXPECT_EQ(StatusOf(Get(StrCat("/mcp?access_token=", key_))), 401) << "a URL is logged anywhere";

  const std::string none = Ask(Get("/mcp"));
  EXPECT_THAT(none, HasSubstr("WWW-Authenticate: Bearer realm=\"sandkeep\"\r\n"));
  EXPECT_THAT(RawClient::BodyOf(none), Not(HasSubstr("jsonrpc")));
  EXPECT_THAT(Ask(Get("/mcp", "Authorization: Bearer x\r\n")),
              HasSubstr("error=\"invalid_token\""));
}

TEST_F(ServerTest, ARefusedPostWithAShortBodyKeepsItsConnection) {
  StartServer();
  RawClient client = Connect();
  const std::string head =
      StrCat("POST /mcp HTTP/1.1\r\nHost: ", Host(), "\r\nContent-Length: 4\r\n\r\n");
  client.Send(head).Send("{}  ");
  EXPECT_EQ(RawClient::StatusOf(client.Answer()), 401);
  EXPECT_EQ(RawClient::StatusOf(client.Send(Get("/healthz")).Answer()), 200);
}

TEST_F(ServerTest, HostAndOriginMatrix) {
  names_.public_base = "https://box.example.com";
  names_.allowed_hosts = {"lan.example", "only.example:81"};
  names_.allowed_origins = {"https://app.example.com", "http://localhost:6274"};
  StartServer();
  const auto with_host = [this](std::string_view host, std::string_view origin = "") {
    return StatusOf(StrCat("GET /healthz HTTP/1.1\r\nHost: ", host, "\r\n",
                           origin.empty() ? "" : "Origin: ", origin, origin.empty() ? "" : "\r\n",
                           "\r\n"));
  };
  for (const char* host : {"localhost", "LOCALHOST:1", "127.0.0.1", "[::1]:80", "box.example.com",
                           "box.example.com:443", "lan.example:8000", "only.example:81"}) {
    EXPECT_EQ(with_host(host), 200) << host;
  }
  for (const char* host : {"evil.example", "only.example", "only.example:82", "127.0.0.2",
                           "box.example.com.evil.example", "localhost:", "localhost:80x", "a b",
                           "[::1", "box.example.com@evil.example", "0.0.0.0"}) {
    EXPECT_EQ(with_host(host), 403) << host;
  }
  EXPECT_EQ(StatusOf("GET /healthz HTTP/1.1\r\n\r\n"), 400);
  EXPECT_EQ(StatusOf("GET /healthz HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n"), 400);

  EXPECT_EQ(with_host("localhost:8000", "http://localhost:8000"), 200);
  EXPECT_EQ(with_host("localhost", "http://localhost:80"), 200);
  EXPECT_EQ(with_host("box.example.com", "https://box.example.com"), 200);
  EXPECT_EQ(with_host("127.0.0.1:8000", "https://app.example.com"), 200);
  EXPECT_EQ(with_host("127.0.0.1:8000", "http://localhost:6274"), 200);
  for (const char* origin : {"null", "https://evil.example", "http://localhost:8001",
                             "http://localhost", "http://app.example.com", "file://",
                             "https://app.example.com.evil.example", "https://app.example.com/x"}) {
    EXPECT_EQ(with_host("localhost:8000", origin), 403) << origin;
  }
}

// Clients take a 401 for "sign in", whatever else is wrong with their request; a page that may not
// call at all isn't told to.
TEST_F(ServerTest, AForeignOriginComesBeforeAMissingKeyAndThatBeforeEverythingElse) {
  StartServer();
  const auto post = [this](std::string_view more, std::string_view body) {
    return StatusOf(StrCat("POST /mcp HTTP/1.1\r\nHost: ", Host(),
                           "\r\nContent-Length: ", body.size(), "\r\n", more, "\r\n", body));
  };
  EXPECT_EQ(post("Origin: https://evil.example\r\n", "{}"), 403);
  for (const char* body : {"{", "\xff", "[]", ""}) EXPECT_EQ(post("", body), 401) << body;
  EXPECT_EQ(post("Content-Type: text/plain\r\nAccept: x\r\n", "{}"), 401);
  for (const char* method : {"GET", "DELETE", "PUT"}) {
    EXPECT_EQ(StatusOf(Get("/mcp", "", method)), 401) << method;
  }
  EXPECT_EQ(StatusOf(StrCat("POST /mcp HTTP/1.1\r\nHost: ", Host(),
                            "\r\nContent-Length: ", kMaxBodyBytes + 1, "\r\n\r\n")),
            401);
}

TEST_F(ServerTest, OptionsNeedsNoKeyButAnAllowedOrigin) {
  names_.allowed_origins = {"https://app.example.com"};
  StartServer();
  const std::string answer = Ask(Get("/mcp", "Origin: https://app.example.com\r\n", "OPTIONS"));
  EXPECT_EQ(RawClient::StatusOf(answer), 204);
  EXPECT_THAT(answer, HasSubstr("Access-Control-Allow-Origin: https://app.example.com\r\n"));
  EXPECT_THAT(answer, HasSubstr("MCP-Protocol-Version"));
  EXPECT_EQ(StatusOf(Get("/mcp", "Origin: https://evil.example\r\n", "OPTIONS")), 403);
  const std::string refused = Ask(Get("/mcp", "Origin: https://app.example.com\r\n"));
  EXPECT_THAT(refused, HasSubstr("Access-Control-Expose-Headers: WWW-Authenticate"));
}

TEST_F(ServerTest, EveryAnswerHasTheSecurityHeaders) {
  StartServer();
  for (const std::string& request :
       {Get("/healthz"), Get("/mcp"), Get("/x"), Post("{}"), std::string("junk\r\n\r\n")}) {
    const std::string answer = Ask(request);
    for (const char* header :
         {"X-Content-Type-Options: nosniff", "Cache-Control: no-store",
          "Referrer-Policy: no-referrer", "Content-Security-Policy: ", "Date: "}) {
      EXPECT_THAT(answer, HasSubstr(header)) << request;
    }
  }
}

TEST_F(ServerTest, Limits) {
  StartServer();
  EXPECT_EQ(StatusOf(Get(StrCat("/", std::string(kMaxUrlBytes, 'a')))), 414);
  EXPECT_EQ(StatusOf(Get("/healthz", StrCat("X: ", std::string(kMaxHeaderBytes, 'a'), "\r\n"))),
            431);
  std::string many;
  for (std::size_t i = 0; i <= kMaxHeaders; ++i) StrAppend(&many, "X", i, ": 1\r\n");
  EXPECT_EQ(StatusOf(Get("/healthz", many)), 431);
  // Told before a byte of the body is sent.
  EXPECT_EQ(StatusOf(StrCat("POST /mcp HTTP/1.1\r\nHost: ", Host(), "\r\nAuthorization: Bearer ",
                            key_, "\r\nContent-Length: ", kMaxBodyBytes + 1, "\r\n\r\n")),
            413);
  EXPECT_THAT(Ask(Post(std::string(kMaxBodyBytes, 'x'))),
              HasSubstr(StrCat("{\"echo\":", kMaxBodyBytes, ",")));
}

TEST_F(ServerTest, AChunkedBodyHasTheSameLimit) {
  StartServer();
  RawClient client = Connect();
  client.Send(StrCat("POST /mcp HTTP/1.1\r\nHost: ", Host(), "\r\nAuthorization: Bearer ", key_,
                     "\r\nTransfer-Encoding: chunked\r\n\r\n"));
  const std::string piece = StrCat("100000\r\n", std::string(1_MiB, 'x'), "\r\n");
  for (std::size_t sent = 0; sent <= kMaxBodyBytes; sent += 1_MiB) client.Send(piece);
  EXPECT_EQ(RawClient::StatusOf(client.Answer()), 413);
}

TEST_F(ServerTest, AChunkedBodyInSmallPiecesIsPutTogether) {
  StartServer();
  RawClient client = Connect();
  const std::string request =
      StrCat("POST /mcp HTTP/1.1\r\nHost: ", Host(), "\r\nAuthorization: Bearer ", key_,
             "\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nA\r\n0123456789\r\n0\r\n\r\n");
  for (const char byte : request) client.Send(std::string_view(&byte, 1));
  EXPECT_THAT(client.Answer(), HasSubstr("{\"echo\":13,"));
  EXPECT_EQ(RawClient::StatusOf(client.Send(Get("/healthz")).Answer()), 200);
}

TEST_F(ServerTest, WhatAFrontServerCouldReadDifferentlyIsRefusedAndTheConnectionClosed) {
  StartServer();
  const std::string start =
      StrCat("POST /mcp HTTP/1.1\r\nHost: ", Host(), "\r\nAuthorization: Bearer ", key_, "\r\n");
  const std::string chunked = StrCat(start, "Transfer-Encoding: chunked\r\n\r\n");
  const std::string smuggled = Get("/healthz");
  const std::vector<std::string> corpus = {
      StrCat(start, "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
      StrCat(start, "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n"),
      StrCat(start, "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{} "),
      StrCat(start, "Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}"),
      StrCat(start, "Content-Length: 2, 2\r\n\r\n{}"),
      StrCat(start, "Content-Length: +2\r\n\r\n{}"),
      StrCat(start, "Content-Length: 0x2\r\n\r\n{}"),
      StrCat(start, "Content-Length: -2\r\n\r\n{}"),
      StrCat(start, "Content-Length: 2 2\r\n\r\n{}"),
      StrCat(start, "Content-Length:\r\n\r\n{}"),
      StrCat(start, "Content-Length: 99999999999999999999999\r\n\r\n{}"),
      StrCat(start, "Content-Length : 2\r\n\r\n{}"),
      StrCat(start, "X: a\r\n Content-Length: 2\r\n\r\n{}"),
      StrCat(start, "X: a\r\n\tb\r\nContent-Length: 2\r\n\r\n{}"),
      StrCat(start, "X: a\nContent-Length: 2\r\n\r\n{}"),
      StrCat(start, "X: a\rContent-Length: 2\r\n\r\n{}"),
      StrCat(start, "Content-Length: 2\n\n{}"),
      StrCat(start, std::string_view("X: a\0b\r\n", 8), "Content-Length: 2\r\n\r\n{}"),
      StrCat(start, "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"),
      StrCat(start, "Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n"),
      StrCat(start, "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n"),
      StrCat(start,
             "Transfer-Encoding: \x0B"
             "chunked\r\n\r\n0\r\n\r\n"),
      StrCat(start, "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
      StrCat("POST /mcp HTTP/1.0\r\nHost: ", Host(),
             "\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
      StrCat(chunked, "2;ext=1\r\n{}\r\n0\r\n\r\n"),
      StrCat(chunked, "2;", std::string(100000, 'x'), "\r\n{}\r\n0\r\n\r\n"),
      StrCat(chunked, std::string(1000, '0'), "2\r\n{}\r\n0\r\n\r\n"),
      StrCat(chunked, "2\n{}\r\n0\r\n\r\n"),
      StrCat(chunked, "2\r\n{}X0\r\n\r\n"),
      StrCat(chunked, "-2\r\n{}\r\n0\r\n\r\n"),
      StrCat(chunked, "FFFFFFFFFFFFFFFFF\r\n{}\r\n0\r\n\r\n"),
      StrCat(chunked, "2\r\n{}\r\n0\r\nAuthorization: Bearer x\r\n\r\n"),
      StrCat(chunked, "0;a\r\n\r\n"),
      // Never ended: the refusal must not wait for an end, nor the server spin until its deadline.
      StrCat(chunked, "2\n", std::string(100000, 'x')),
      StrCat(chunked, "1\r\n{\r\n2\n", std::string(100000, 'x')),
      StrCat(chunked, "0\r\nX: ", std::string(100000, 'x')),
      StrCat(chunked, "0\r\n\n", std::string(100000, 'x')),
      StrCat(chunked, "0\r\n\rx", std::string(100000, 'x')),
      StrCat(chunked, "0;", std::string(15, 'a'), "\r\n", std::string(100000, 'x')),
      "GET /healthz HTTP/2.0\r\nHost: localhost\r\n\r\n",
      "GET  /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n",
      "GET /healthz\r\nHost: localhost\r\n\r\n",
      " GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n",
      "G@T /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n",
      "\r\n\r\n",
      "\x16\x03\x01\x02\x00\x01\x00\n",
  };
  for (const std::string& attack : corpus) {
    RawClient client = Connect();
    client.Send(attack).Send(smuggled);
    const std::string all = client.UntilClosed();
    EXPECT_THAT(RawClient::StatusOf(all), testing::AnyOf(400, 413, 431, 505))
        << attack.substr(0, 300);
    EXPECT_EQ(all.find("HTTP/1.1 2"), std::string::npos) << "served what was smuggled: " << attack;
    EXPECT_TRUE(client.closed()) << attack.substr(0, 300);
  }
}

TEST_F(ServerTest, PipelinedRequestsAreAnsweredInOrder) {
  // Even when the first takes longer than the others.
  endpoint_.script = [this](mcp::Request request, mcp::EventSink& events) {
    return EchoAfterAWhile(std::move(request), events);
  };
  StartServer();
  RawClient client = Connect();
  std::string all;
  for (int i = 1; i <= 50; ++i) all += i % 2 == 1 ? Post(std::string(i, 'x')) : Get("/healthz");
  client.Send(all);
  for (int i = 1; i <= 50; ++i) {
    const std::string answer = client.Answer();
    EXPECT_THAT(RawClient::BodyOf(answer),
                HasSubstr(i % 2 == 1 ? StrCat("{\"echo\":", i, ",") : "ok\n"));
  }
}

TEST_F(ServerTest, Expect100ContinueIsAnsweredOnlyToWhoIsLetIn) {
  StartServer();
  RawClient client = Connect();
  client.Send(StrCat("POST /mcp HTTP/1.1\r\nHost: ", Host(), "\r\nAuthorization: Bearer ", key_,
                     "\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n"));
  EXPECT_EQ(client.Until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  EXPECT_EQ(RawClient::StatusOf(client.Send("{}").Answer()), 200);

  RawClient stranger = Connect();
  stranger.Send(StrCat("POST /mcp HTTP/1.1\r\nHost: ", Host(),
                       "\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n"));
  EXPECT_EQ(RawClient::StatusOf(stranger.UntilClosed()), 401);
}

TEST_F(ServerTest, Http10GetsOneAnswerAndTheEnd) {
  StartServer();
  RawClient client = Connect();
  client.Send(StrCat("GET /healthz HTTP/1.0\r\nHost: ", Host(), "\r\n\r\n"));
  const std::string all = client.UntilClosed();
  EXPECT_THAT(all, HasSubstr("Connection: close"));
  EXPECT_THAT(all, HasSubstr("ok\n"));
}

TEST_F(ServerTest, TheRateIsAPrincipalsAndNobodyElsesMatter) {
  rate_ = 2;
  KeyTable table(*OpenGatewayDatabase(folder_));
  const std::string laptop(table.Add("ann", SystemRandom(), clock_)->Reveal());
  const std::string bob(table.Add("bob", SystemRandom(), clock_)->Reveal());
  keys_ = *AccessKeys::Start(std::move(table), clock_);
  StartServer();
  const auto status = [this](const std::string& key) {
    return StatusOf(StrCat("POST /mcp HTTP/1.1\r\nHost: ", Host(), "\r\nAuthorization: Bearer ",
                           key, "\r\nContent-Length: 2\r\n\r\n{}"));
  };
  EXPECT_EQ(status(key_), 200);
  EXPECT_EQ(status(laptop), 200);
  const std::string third = Ask(Post("{}"));
  EXPECT_EQ(RawClient::StatusOf(third), 429);
  EXPECT_THAT(third, HasSubstr("Retry-After: 1\r\n"));
  EXPECT_EQ(status(laptop), 429) << "another key is the same person";
  EXPECT_EQ(status(bob), 200);
  EXPECT_EQ(StatusOf(Get("/healthz")), 200);
  clock_.Advance(absl::Milliseconds(500));
  EXPECT_EQ(status(laptop), 200);
  EXPECT_EQ(status(key_), 429);
}

TEST_F(ServerTest, DrainingFinishesWhatRunsAndClosesWhatIdles) {
  endpoint_.script = [this](mcp::Request request, mcp::EventSink& events) {
    return EchoWhenReleased(std::move(request), events);
  };
  StartServer();
  RawClient idle = Connect();
  EXPECT_EQ(RawClient::StatusOf(idle.Send(Get("/healthz")).Answer()), 200);
  RawClient busy = Connect();
  busy.Send(Post("{}"));
  entered_.get_future().wait();

  std::promise<void> drained;
  server_->Drain(kTestPatience, [&drained] { drained.set_value(); });

  EXPECT_EQ(idle.UntilClosed(), "");
  release_->Deliver(true);
  EXPECT_EQ(RawClient::StatusOf(busy.UntilClosed()), 200);
  EXPECT_TRUE(busy.closed());
  busy.Close();
  EXPECT_EQ(drained.get_future().wait_for(kTestPatience), std::future_status::ready);
  EXPECT_FALSE(Connect().connected());
}

TEST_F(ServerTest, ASecretNeverReachesTheEndpoint) {
  mcp::Request seen{.caller = {.principal = *PrincipalId::Parse("key-x"), .name = ""},
                    .body = "",
                    .protocol_version = {},
                    .method = {},
                    .name = {},
                    .accepts_event_stream = false,
                    .headers = {},
                    .public_base = ""};
  endpoint_.script = [&seen](mcp::Request request, mcp::EventSink& events) {
    seen = request;
    return Echo(std::move(request), events);
  };
  StartServer();
  Ask(Post("{}", "Cookie: a=b\r\nMcp-Name: run_command\r\nMCP-Protocol-Version: 2026-07-28\r\n"));
  for (const auto& [name, value] : seen.headers) {
    EXPECT_THAT(value, Not(HasSubstr(key_))) << name;
    EXPECT_TRUE(name != "cookie" || value == "<redacted>");
  }
  EXPECT_EQ(seen.name, "run_command");
  EXPECT_EQ(seen.protocol_version, "2026-07-28");
  EXPECT_EQ(seen.method, std::nullopt);
  EXPECT_EQ(seen.public_base, StrCat("http://", Host()));
  EXPECT_EQ(seen.caller.name, "ann");
}

}  // namespace
}  // namespace sandkeep
