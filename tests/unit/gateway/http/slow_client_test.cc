// Clients that send or read as slowly as they can: each holds its connection for a time that is
// known, and nobody else's. The sleeps are the attacks themselves.

#include <thread>

#include "common/limits.h"
#include "tests/unit/gateway/http/gateway_fixture.h"

namespace sandkeep {
namespace {

using std::chrono::milliseconds;
using Steady = std::chrono::steady_clock;

boost::asio::awaitable<mcp::Reply> Answer(std::string body) {
  mcp::Reply reply;
  reply.body = std::move(body);
  co_return reply;
}

class SlowClientTest : public GatewayFixture {
 protected:
  SlowClientTest() {
    endpoint_.script = [this](mcp::Request, mcp::EventSink&) { return Answer(body_); };
  }

  // Sends `piece` every 20 ms until the server has had enough; how long that took.
  static Steady::duration Drip(RawClient* client, std::string_view piece, milliseconds patience) {
    const auto begun = Steady::now();
    for (int i = 0; i < 1000 && !client->closed(); ++i) {
      client->Send(piece);
      std::this_thread::sleep_for(milliseconds(20));
      if (Steady::now() - begun > patience + milliseconds(100)) client->Receive();
    }
    EXPECT_TRUE(client->closed());
    return Steady::now() - begun;
  }

  std::string body_ = "{}";
};

TEST_F(SlowClientTest, ASilentOrSlowClientIsClosed) {
  options_.timing.header = milliseconds(100);
  options_.timing.body = milliseconds(100);
  options_.timing.idle = milliseconds(100);
  StartServer();
  RawClient silent = Connect();
  RawClient half_a_head = Connect();
  half_a_head.Send("GET /healthz HTTP/1.1\r\nHo");
  RawClient half_a_body = Connect();
  half_a_body.Send(StrCat("POST /mcp HTTP/1.1\r\nHost: ", Host(), "\r\nAuthorization: Bearer ",
                          key_, "\r\nContent-Length: 4\r\n\r\n{}"));
  RawClient idle = Connect();
  EXPECT_EQ(RawClient::StatusOf(idle.Send(Get("/healthz")).Answer()), 200);

  for (RawClient* client : {&silent, &half_a_head, &half_a_body, &idle}) {
    EXPECT_EQ(client->UntilClosed(), "");
    EXPECT_TRUE(client->closed());
  }
}

TEST_F(SlowClientTest, ADrippingHeadDoesNotLiveLongerThanASilentOne) {
  options_.timing.header = milliseconds(200);
  StartServer();
  RawClient client = Connect();
  client.Send("GET /healthz HTTP/1.1\r\n");
  EXPECT_LT(Drip(&client, "X: 1\r\n", milliseconds(200)), std::chrono::seconds(5));
}

TEST_F(SlowClientTest, ADrippingBodyDoesNotLiveLongerThanASilentOne) {
  options_.timing.body = milliseconds(200);
  StartServer();
  for (const char* framing :
       {"Content-Length: 100000\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n"}) {
    RawClient client = Connect();
    client.Send(StrCat("POST /mcp HTTP/1.1\r\nHost: ", Host(), "\r\nAuthorization: Bearer ", key_,
                       "\r\n", framing));
    EXPECT_LT(Drip(&client, "1\r\n \r\n", milliseconds(200)), std::chrono::seconds(5)) << framing;
  }
}

TEST_F(SlowClientTest, WhoReadsNoAnswerIsClosed) {
  options_.timing.write = milliseconds(200);
  // More than all buffers between the two hold.
  body_ = std::string(64_MiB, 'x');
  StartServer();
  RawClient client(server_->port(), 4096);
  const auto begun = Steady::now();
  client.Send(Post("{}"));
  std::this_thread::sleep_for(milliseconds(400));
  const std::string all = client.UntilClosed();
  EXPECT_TRUE(client.closed());
  EXPECT_LT(all.size(), body_.size());
  EXPECT_LT(Steady::now() - begun, kTestPatience);
}

// Half a head each, from as many as there may be: the next one is served at once.
TEST_F(SlowClientTest, ManyOfThemKeepNobodyOut) {
  options_.max_connections = 50;
  StartServer();
  std::vector<RawClient> slow;
  slow.reserve(100);
  for (int i = 0; i < 100; ++i) {
    slow.push_back(Connect());
    slow.back().Send("POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nX: 1\r\n");
    if (i % 10 == 9) {
      EXPECT_EQ(StatusOf(Post("{}")), 200);
    }
  }
}

}  // namespace
}  // namespace sandkeep
