// Calls of the endpoint over HTTP: fast ones, slow ones, ones that talk, and clients that leave.

#include "gateway/http/mcp_transport.h"

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <future>
#include <stdexcept>

#include "common/pending.h"
#include "tests/fakes/patience.h"
#include "tests/unit/gateway/http/gateway_fixture.h"

namespace sandkeep {
namespace {

namespace asio = boost::asio;
using std::chrono::milliseconds;
using testing::HasSubstr;
using testing::Not;

constexpr std::string_view kStreams = "Accept: application/json, text/event-stream\r\n";

mcp::Reply Done() {
  mcp::Reply reply;
  reply.body = R"({"done":true})";
  return reply;
}

asio::awaitable<mcp::Reply> Answer(mcp::Reply reply) { co_return reply; }

class McpTransportTest : public GatewayFixture {
 protected:
  McpTransportTest() {
    options_.timing.stream_after = milliseconds(20);
    options_.timing.keep_alive = milliseconds(30);
    endpoint_.script = [this](mcp::Request, mcp::EventSink& events) { return Wait(events); };
  }

  // Until the test says so, or it is cancelled.
  asio::awaitable<mcp::Reply> Wait(mcp::EventSink& events) {
    for (const std::string& event : first_events_) events.Notify(event);
    entered_.set_value();
    auto waiting = release_->Take(false);
    const bool released = co_await std::move(waiting);
    if (!released) cancelled_.set_value();
    co_return Done();
  }

  // Until it is cancelled, which a wait or the next co_await throws.
  asio::awaitable<mcp::Reply> TalkWithoutEnd(std::string event, mcp::EventSink& events) {
    const std::shared_ptr<void> at_end(nullptr, [this](void*) { cancelled_.set_value(); });
    const auto executor = co_await asio::this_coro::executor;
    asio::steady_timer timer(executor);
    for (;;) {
      events.Notify(event);
      timer.expires_after(milliseconds(1));
      co_await timer.async_wait(asio::use_awaitable);
    }
  }

  std::vector<std::string> first_events_;
  std::promise<void> entered_;
  std::promise<void> cancelled_;
  std::shared_ptr<Pending<bool>> release_ = std::make_shared<Pending<bool>>();
};

TEST_F(McpTransportTest, AFastCallIsPlainJsonEvenIfTheClientTakesAStream) {
  release_->Deliver(true);
  StartServer();
  const std::string answer = Ask(Post("{}", kStreams));
  EXPECT_THAT(answer, HasSubstr("Content-Type: application/json"));
  EXPECT_EQ(RawClient::BodyOf(answer), R"({"done":true})");
}

TEST_F(McpTransportTest, ASlowCallBecomesAStreamWithKeepAlivesAndTheAnswerAtItsEnd) {
  StartServer();
  RawClient client = Connect();
  client.Send(Post("{}", kStreams));
  const std::string head = client.Until("\r\n\r\n");
  EXPECT_EQ(RawClient::StatusOf(head), 200);
  EXPECT_THAT(head, HasSubstr("Content-Type: text/event-stream"));
  EXPECT_THAT(head, HasSubstr("X-Accel-Buffering: no"));
  EXPECT_THAT(client.Until(": keep-alive\n\n"), HasSubstr(":\n\n"));
  client.Until(": keep-alive\n\n");
  release_->Deliver(true);
  EXPECT_THAT(client.Until("0\r\n\r\n"),
              HasSubstr("event: message\ndata: {\"done\":true}\n\n\r\n0\r\n\r\n"));
  EXPECT_EQ(RawClient::StatusOf(client.Send(Get("/healthz")).Answer()), 200);
}

TEST_F(McpTransportTest, ANotificationOpensTheStreamAtOnceAndStandsBeforeTheAnswer) {
  options_.timing.stream_after = std::chrono::hours(1);
  first_events_ = {R"({"progress":1})", R"({"progress":2})"};
  StartServer();
  RawClient client = Connect();
  client.Send(Post("{}", kStreams));
  EXPECT_THAT(client.Until("{\"progress\":2}\n\n"), HasSubstr("data: {\"progress\":1}\n\n"));
  release_->Deliver(true);
  EXPECT_THAT(client.Until("0\r\n\r\n"), HasSubstr("data: {\"done\":true}\n\n"));
}

TEST_F(McpTransportTest, AClientThatTakesNoStreamWaitsForJson) {
  first_events_ = {R"({"progress":1})"};
  StartServer();
  RawClient client = Connect();
  client.Send(Post("{}", "Accept: */*\r\n"));
  entered_.get_future().wait();
  // Longer than the time after which others get a stream.
  std::this_thread::sleep_for(milliseconds(60));
  release_->Deliver(true);
  const std::string answer = client.Answer();
  EXPECT_THAT(answer, HasSubstr("Content-Type: application/json"));
  EXPECT_EQ(RawClient::BodyOf(answer), R"({"done":true})");
}

TEST_F(McpTransportTest, NobodyGetsA406) {
  endpoint_.script = [](mcp::Request, mcp::EventSink&) { return Answer(Done()); };
  StartServer();
  for (const char* accept : {"", "Accept: text/html\r\n", "Accept: ,,;q\r\n", "Accept: \r\n"}) {
    EXPECT_EQ(StatusOf(Post("{}", accept)), 200) << accept;
  }
  RawClient only_streams = Connect();
  only_streams.Send(Post("{}", "Accept: text/event-stream\r\n"));
  EXPECT_THAT(only_streams.Until("0\r\n\r\n"), HasSubstr("data: {\"done\":true}\n\n"));
}

TEST_F(McpTransportTest, AClientThatLeavesCancelsItsCall) {
  StartServer();
  RawClient client = Connect();
  client.Send(Post("{}"));
  entered_.get_future().wait();
  client.Close();
  EXPECT_EQ(cancelled_.get_future().wait_for(kTestPatience), std::future_status::ready);
}

TEST_F(McpTransportTest, AClientThatLeavesItsStreamCancelsItsCall) {
  StartServer();
  RawClient client = Connect();
  client.Send(Post("{}", kStreams));
  client.Until(":\n\n");
  client.Close();
  EXPECT_EQ(cancelled_.get_future().wait_for(kTestPatience), std::future_status::ready);
}

TEST_F(McpTransportTest, WhatIsPipelinedDuringACallIsNotLost) {
  StartServer();
  RawClient client = Connect();
  client.Send(Post("{}"));
  entered_.get_future().wait();
  client.Send(Get("/healthz")).Send(Get("/mcp"));
  release_->Deliver(true);
  EXPECT_THAT(client.Answer(), HasSubstr(R"({"done":true})"));
  EXPECT_THAT(client.Answer(), HasSubstr("ok\n"));
  EXPECT_EQ(RawClient::StatusOf(client.Answer()), 401);
}

TEST_F(McpTransportTest, DispositionsBecomeStatusCodes) {
  mcp::Reply reply;
  endpoint_.script = [&reply](mcp::Request, mcp::EventSink&) { return Answer(reply); };
  StartServer();
  reply.disposition = mcp::Disposition::kAccepted;
  const std::string accepted = Ask(Post("{}", kStreams));
  EXPECT_EQ(RawClient::StatusOf(accepted), 202);
  EXPECT_THAT(accepted, HasSubstr("Content-Length: 0"));
  EXPECT_THAT(accepted, Not(HasSubstr("\r\nContent-Type")));
  reply = Done();
  reply.disposition = mcp::Disposition::kBadRequest;
  EXPECT_EQ(StatusOf(Post("{}")), 400);
  reply.disposition = mcp::Disposition::kNotFound;
  EXPECT_EQ(StatusOf(Post("{}")), 404);
}

TEST_F(McpTransportTest, AnySessionIdDoesAndOneThatNobodyCouldHaveIsNone) {
  std::vector<std::string> seen;
  endpoint_.script = [&seen](mcp::Request request, mcp::EventSink&) -> asio::awaitable<mcp::Reply> {
    seen.push_back(request.session);
    co_return Done();
  };
  StartServer();
  for (const std::string& session :
       {std::string("long-gone"), std::string(kMaxSessionIdBytes + 1, 'x'), std::string("a b")}) {
    const std::string answer = Ask(Post("{}", "Mcp-Session-Id: " + session + "\r\n"));
    EXPECT_EQ(RawClient::StatusOf(answer), 200);
    EXPECT_THAT(answer, Not(HasSubstr("\r\nMcp-Session-Id")));
  }
  EXPECT_EQ(seen, (std::vector<std::string>{"long-gone", "", ""}));
}

TEST_F(McpTransportTest, ANewSessionIsNamedInAHeaderWhateverTheClientTakes) {
  endpoint_.script = [](mcp::Request, mcp::EventSink&) -> asio::awaitable<mcp::Reply> {
    mcp::Reply reply = Done();
    reply.session = "0123456789abcdef";
    co_return reply;
  };
  StartServer();
  for (const std::string accept : {"application/json", "text/event-stream"}) {
    EXPECT_THAT(Ask(Post("{}", "Accept: " + accept + "\r\n")),
                HasSubstr("\r\nMcp-Session-Id: 0123456789abcdef\r\n"));
  }
}

TEST_F(McpTransportTest, ACallThatThrowsIsA500AndTheConnectionGoesOn) {
  endpoint_.script = [](mcp::Request, mcp::EventSink&) -> asio::awaitable<mcp::Reply> {
    throw std::runtime_error("a fault of ours");
    co_return Done();
  };
  StartServer();
  RawClient client = Connect();
  const std::string answer = client.Send(Post("{}")).Answer();
  EXPECT_EQ(RawClient::StatusOf(answer), 500);
  EXPECT_THAT(answer, Not(HasSubstr("a fault of ours")));
  EXPECT_EQ(RawClient::StatusOf(client.Send(Get("/healthz")).Answer()), 200);
}

TEST_F(McpTransportTest, AClientThatReadsNothingLosesEventsAndThenItsConnection) {
  options_.timing.write = milliseconds(200);
  const std::string event = "\"" + std::string(200000, 'x') + "\"";
  endpoint_.script = [this, event](mcp::Request, mcp::EventSink& events) {
    return TalkWithoutEnd(event, events);
  };
  StartServer();
  RawClient client(server_->port(), 4096);
  client.Send(Post("{}", kStreams));
  EXPECT_EQ(cancelled_.get_future().wait_for(kTestPatience), std::future_status::ready);
}

}  // namespace
}  // namespace sandkeep
