// What real clients do over HTTP that the protocol doesn't say, each test named after it.

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>

#include "tests/unit/gateway/http/gateway_fixture.h"

namespace sandkeep {
namespace {

using testing::HasSubstr;
using testing::Not;

class HttpClientQuirks : public GatewayFixture {
 protected:
  HttpClientQuirks() {
    endpoint_.script = [](mcp::Request request,
                          mcp::EventSink&) -> boost::asio::awaitable<mcp::Reply> {
      mcp::Reply reply;
      reply.body = StrCat("{\"session\":\"", request.session, "\"}");
      co_return reply;
    };
  }
  std::string Bearer() const { return StrCat("Authorization: Bearer ", key_, "\r\n"); }
};

// Any other answer makes some clients give up, and others ask again without end.
TEST_F(HttpClientQuirks, AGetIsA405WhateverComesWithIt) {
  StartServer();
  for (const char* path : {"/mcp", "/mcp/"}) {
    for (const char* more : {"", "Accept: text/event-stream\r\n", "Accept: application/json\r\n",
                             "Accept: x\r\n", "Mcp-Session-Id: stale\r\n", "Last-Event-ID: 17\r\n",
                             "MCP-Protocol-Version: banana\r\n"}) {
      const std::string answer = Ask(Get(path, StrCat(Bearer(), more)));
      EXPECT_EQ(RawClient::StatusOf(answer), 405) << path << " " << more;
      EXPECT_THAT(answer, HasSubstr("\r\nAllow: POST, OPTIONS\r\n"));
    }
  }
}

TEST_F(HttpClientQuirks, CodexBeginsWithAGetOfAnOldVersionAndWantsTheChallenge) {
  StartServer();
  const std::string answer =
      Ask(Get("/mcp", "MCP-Protocol-Version: 2024-11-05\r\nAccept: text/event-stream\r\n"));
  EXPECT_EQ(RawClient::StatusOf(answer), 401);
  EXPECT_THAT(answer, HasSubstr("\r\nWWW-Authenticate: Bearer "));
}

TEST_F(HttpClientQuirks, CodexEndsItsSessionByADeleteAndMayGoOn) {
  StartServer();
  const std::string session = "Mcp-Session-Id: s1\r\n";
  EXPECT_EQ(StatusOf(Get("/mcp", StrCat(Bearer(), session), "DELETE")), 405);
  EXPECT_EQ(RawClient::BodyOf(Ask(Post("{}", session))), R"({"session":"s1"})");
}

TEST_F(HttpClientQuirks, ClaudeAiComesFromAnotherAddressEachTime) {
  StartServer();
  for (std::uint8_t last = 2; last < 12; ++last) {
    RawClient client(server_->port(), 0, last);
    const std::string answer = client.Send(Post("{}", "Mcp-Session-Id: s1\r\n")).Answer();
    EXPECT_EQ(RawClient::BodyOf(answer), R"({"session":"s1"})");
  }
}

// 307 loses the body in some clients, and the key in others.
TEST_F(HttpClientQuirks, TheEndpointWithASlashIsNoRedirect) {
  StartServer();
  for (const char* path : {"/mcp", "/mcp/"}) {
    const std::string answer = Ask(StrCat("POST ", path, " HTTP/1.1\r\nHost: ", Host(), "\r\n",
                                          Bearer(), "Content-Length: 2\r\n\r\n{}"));
    EXPECT_EQ(RawClient::StatusOf(answer), 200) << path;
    EXPECT_THAT(answer, Not(HasSubstr("\r\nLocation:")));
  }
}

TEST_F(HttpClientQuirks, ClientsInABrowserMaySendAndReadTheProtocolsHeaders) {
  names_.allowed_origins = {"https://app.example.com"};
  StartServer();
  const std::string origin = "Origin: https://app.example.com\r\n";
  const std::string asked = Ask(Get("/mcp", origin, "OPTIONS"));
  const std::string allowed =
      asked.substr(asked.find("Access-Control-Allow-Headers: "), asked.find("\r\n\r\n"));
  for (const char* header : {"Authorization", "Content-Type", "Accept", "MCP-Protocol-Version",
                             "Mcp-Session-Id", "Mcp-Method", "Mcp-Name", "Last-Event-ID"}) {
    EXPECT_THAT(allowed, HasSubstr(header));
  }
  for (const std::string& request : {Post("{}", origin), Get("/mcp", origin)}) {
    const std::string answer = Ask(request);
    const std::size_t at = answer.find("Access-Control-Expose-Headers: ");
    ASSERT_NE(at, std::string::npos) << answer;
    const std::string exposed = answer.substr(at, answer.find("\r\n", at) - at);
    EXPECT_THAT(exposed, HasSubstr("WWW-Authenticate"));
    EXPECT_THAT(exposed, HasSubstr("Mcp-Session-Id"));
  }
}

TEST_F(HttpClientQuirks, ClaudeDesktopTakesA401WithAJsonRpcBodyForAnAnswer) {
  StartServer();
  for (const char* more : {"", "Authorization: Bearer wrong\r\n"}) {
    const std::string answer = Ask(Get("/mcp", more));
    ASSERT_EQ(RawClient::StatusOf(answer), 401);
    const boost::json::object body = boost::json::parse(RawClient::BodyOf(answer)).as_object();
    EXPECT_TRUE(body.at("error").is_string()) << "as OAuth has it";
    EXPECT_FALSE(body.contains("id"));
    EXPECT_FALSE(body.contains("jsonrpc"));
  }
}

// Proxies and clients cut a stream that is silent for 60 s and more; some count from the first
// byte.
TEST_F(HttpClientQuirks, NoStreamIsSilentForLongerThanProxiesBear) {
  EXPECT_LE(http::Timing().keep_alive, std::chrono::seconds(15));
  EXPECT_LE(http::Timing().stream_after, std::chrono::seconds(15));
}

}  // namespace
}  // namespace sandkeep
