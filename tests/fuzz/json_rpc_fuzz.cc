// A message and the three headers that mirror it, one a line before the body: judged by the parts,
// and answered by a whole endpoint, whose agent knows nothing. What is answered is JSON with the id
// that came, whatever tool is called with whatever arguments.
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/json/parse.hpp>
#include <chrono>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "common/limits.h"
#include "gateway/mcp/endpoint.h"
#include "gateway/mcp/era.h"
#include "gateway/mcp/json_rpc.h"
#include "gateway/mcp/registry.h"
#include "gateway/mcp/strict_json.h"
#include "gateway/mcp/workspace_resources.h"
#include "tests/fakes/fake_agent_client.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fakes/fake_random.h"
#include "tests/fuzz/fuzz_target.h"

namespace sandkeep {
namespace {

std::optional<std::string> HeaderIn(std::string_view* text) {
  const std::string_view line = TakeUntil(text, '\n');
  return line.empty() ? std::nullopt : std::optional<std::string>(line);
}

void CheckAnswer(std::string_view id, const mcp::RpcError& error) {
  const auto body = mcp::ParseStrictJson(mcp::ErrorBody(id, error));
  Require(body.ok(), "an error is JSON");
  const boost::json::value* echoed = body->as_object().if_contains("id");
  Require((echoed != nullptr) == !id.empty(), "an error has an id if the message had one");
  if (echoed != nullptr) {
    Require(*echoed == boost::json::parse(boost::json::string_view(id)), "the id is echoed");
    Require(echoed->is_string() || echoed->is_int64() || echoed->is_uint64(), "an id is one");
  }
}

mcp::Request RequestOf(std::string_view* text) {
  mcp::Request request{.caller = {.principal = *PrincipalId::Parse("key-one"), .name = "one"},
                       .body = {},
                       .protocol_version = {},
                       .method = {},
                       .name = {},
                       .headers = {},
                       .public_base = {}};
  request.protocol_version = HeaderIn(text);
  request.method = HeaderIn(text);
  request.name = HeaderIn(text);
  return request;
}

void CheckMessages(const mcp::Request& request, const mcp::Incoming& incoming) {
  Require(incoming.messages.size() <= kMaxBatchMessages, "a batch has a bound");
  if (incoming.batch) (void)mcp::ClassifyBatch(request, incoming.messages);
  for (const mcp::Message& message : incoming.messages) {
    const bool is_request = message.kind == mcp::Message::Kind::kRequest;
    Require(is_request == !message.id.empty(), "a request has an id, and nothing else has");
    const mcp::Classified classified = mcp::Classify(request, message);
    if (const auto* error = std::get_if<mcp::RpcError>(&classified))
      CheckAnswer(message.id, *error);
  }
}

class NoLinks : public mcp::LinkMaker {
 public:
  std::string Make(std::string_view, const mcp::LinkTarget&, std::string_view) override {
    return "https://box.example/dl/x";
  }
  std::string MakeForFolder(std::string_view, const mcp::LinkTarget&, std::string_view,
                            mcp::ArchiveFormat) override {
    return "https://box.example/dl/x.zip";
  }
  std::string MakeForJob(std::string_view, const mcp::LinkTarget&, const JobId&, bool) override {
    return "https://box.example/dl/x";
  }
  std::chrono::seconds LifetimeFor(const mcp::LinkTarget&) const override {
    return std::chrono::seconds(3600);
  }
};

class NoEvents : public mcp::EventSink {
 public:
  void Notify(std::string json) override {
    Require(mcp::ParseStrictJson(json).ok(), "a notification is JSON");
  }
};

// Nothing waits for anything, since the agent answers at once that it can't.
mcp::Reply AnswerOf(mcp::Request request) {
  boost::asio::io_context io;
  FakeAgentClient agent;
  NoLinks links;
  FakeClock clock;
  FakeRandom random;
  const mcp::EndpointSettings settings;
  mcp::Registry registry;
  registry.resources.push_back(std::make_unique<mcp::WorkspaceResources>(agent, settings));
  const std::unique_ptr<mcp::Endpoint> endpoint =
      mcp::MakeEndpoint(agent, links, clock, random, settings, std::move(registry));
  NoEvents events;
  std::optional<mcp::Reply> reply;
  auto finished = [&reply](const std::exception_ptr& error, mcp::Reply answer) {
    Require(!error, "no message throws");
    reply = std::move(answer);
  };
  boost::asio::co_spawn(io, endpoint->Handle(std::move(request), events), finished);
  io.run_for(std::chrono::seconds(5));
  Require(reply.has_value(), "every message is answered");
  return *std::move(reply);
}

void CheckReply(const mcp::Reply& reply, const mcp::Incoming& incoming) {
  Require(reply.body.empty() == (reply.disposition == mcp::Disposition::kAccepted),
          "what is accepted has no answer, and everything else has one");
  if (reply.body.empty()) return;
  const auto body = mcp::ParseStrictJson(reply.body);
  Require(body.ok(), "an answer is JSON");
  if (!body->is_object()) return Require(incoming.batch, "an array answers an array");
  const boost::json::object& answer = body->as_object();
  Require(answer.contains("result") != answer.contains("error"), "a result or an error");
  const bool failed = reply.disposition != mcp::Disposition::kOk;
  Require(!failed || answer.contains("error"), "what isn't in band is an error");
  if (incoming.batch) return;
  const std::string& id = incoming.messages.front().id;
  if (id.empty()) return Require(!answer.contains("id"), "what has no id is refused without one");
  Require(answer.at("id") == boost::json::parse(boost::json::string_view(id)), "the id is echoed");
  if (reply.disposition != mcp::Disposition::kNotFound) return;
  Require(answer.at("error").at("code").as_int64() == mcp::kMethodNotFound, "404 is that alone");
}

int TestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text = AsText(data, size);
  const mcp::Request request = RequestOf(&text);
  const auto parsed = mcp::ParseBody(text);
  if (const auto* malformed = std::get_if<mcp::Malformed>(&parsed)) {
    CheckAnswer(malformed->id, malformed->error);
    return 0;
  }
  const mcp::Incoming& incoming = std::get<mcp::Incoming>(parsed);
  CheckMessages(request, incoming);
  mcp::Request whole = request;
  whole.body = std::string(text);
  CheckReply(AnswerOf(std::move(whole)), incoming);
  return 0;
}

}  // namespace
}  // namespace sandkeep

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return sandkeep::TestOneInput(data, size);
}
