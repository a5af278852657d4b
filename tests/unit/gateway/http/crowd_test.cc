// More connections than there may be: who has to go.

#include <future>
#include <vector>

#include "common/pending.h"
#include "tests/unit/gateway/http/gateway_fixture.h"

namespace sandkeep {
namespace {

class CrowdTest : public GatewayFixture {
 protected:
  CrowdTest() {
    options_.one_thread = false;
    endpoint_.script = [this](mcp::Request, mcp::EventSink&) { return AnswerWhenReleased(); };
  }

  boost::asio::awaitable<mcp::Reply> AnswerWhenReleased() {
    entered_.set_value();
    auto waiting = release_->Take(false);
    co_await std::move(waiting);
    mcp::Reply reply;
    reply.body = "{}";
    co_return reply;
  }

  std::promise<void> entered_;
  std::shared_ptr<Pending<bool>> release_ = std::make_shared<Pending<bool>>();
};

TEST_F(CrowdTest, BeyondTheLimitTheOldestThatServesNobodyMakesRoom) {
  options_.max_connections = 3;
  StartServer();
  std::vector<RawClient> clients;
  for (int i = 0; i < 3; ++i) {
    clients.push_back(Connect());
    EXPECT_EQ(RawClient::StatusOf(clients.back().Send(Get("/healthz")).Answer()), 200);
  }
  clients.push_back(Connect());
  EXPECT_EQ(RawClient::StatusOf(clients[3].Send(Get("/healthz")).Answer()), 200);
  EXPECT_EQ(clients[0].UntilClosed(), "");
  for (int i = 1; i < 4; ++i) {
    EXPECT_EQ(RawClient::StatusOf(clients[i].Send(Get("/healthz")).Answer()), 200);
  }
}

TEST_F(CrowdTest, BeyondTheLimitWhoIsServedIsNeverCut) {
  options_.max_connections = 1;
  StartServer();
  RawClient first = Connect();
  first.Send(Post("{}", "Accept: application/json\r\n"));
  entered_.get_future().wait();
  RawClient second = Connect();
  second.Send(Get("/healthz"));
  release_->Deliver(true);
  EXPECT_EQ(RawClient::StatusOf(first.Answer()), 200);
  EXPECT_EQ(RawClient::StatusOf(second.Answer()), 200);
}

}  // namespace
}  // namespace sandkeep
