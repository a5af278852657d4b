// An endpoint over a scripted agent, with a client's hand on it: single-threaded, so that a test
// decides what happens when.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/strings.h"
#include "gateway/mcp/endpoint.h"
#include "gateway/mcp/registry.h"
#include "tests/fakes/fake_agent_client.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fakes/fake_random.h"

namespace sandkeep::mcp {

namespace json = boost::json;
namespace v1 = agent::v1;

class FakeLinks : public LinkMaker {
 public:
  std::string Make(std::string_view public_base, const LinkTarget& target,
                   std::string_view path) override {
    generation_ = std::string(target.generation);
    return StrCat(public_base, "/dl/signed/", target.key, "/", path);
  }
  std::string MakeForFolder(std::string_view public_base, const LinkTarget& target,
                            std::string_view path, ArchiveFormat format) override {
    const std::string_view ending = format == ArchiveFormat::kTar ? ".tar" : ".zip";
    return StrCat(public_base, "/dl/signed/", target.key, "/", path, ending);
  }
  std::string MakeForJob(std::string_view public_base, const LinkTarget& target, const JobId& job,
                         bool errors) override {
    return StrCat(public_base, "/dl/signed/", target.key, "/.jobs/", job.hex(),
                  errors ? ".stderr" : "");
  }
  std::chrono::seconds LifetimeFor(const LinkTarget& target) const override {
    return target.persistent ? std::chrono::hours(24) : std::chrono::hours(1);
  }

  std::string generation_;
};

class KeptEvents : public EventSink {
 public:
  void Notify(std::string json) override { events.push_back(std::move(json)); }

  std::vector<std::string> events;
};

// A request on its way.
class Call {
 public:
  bool done() const { return reply_.has_value(); }
  const Reply& reply() const { return *reply_; }
  // The client closes its stream.
  void Close() { signal_.emit(boost::asio::cancellation_type::terminal); }

 private:
  friend class EndpointTestBase;
  boost::asio::cancellation_signal signal_;
  std::optional<Reply> reply_;
};

class EndpointTestBase : public testing::Test {
 protected:
  EndpointTestBase() {
    agent_.get_info.AnswerAlways([](const auto&) { return HostFacts(); });
  }

  static v1::Info HostFacts() {
    v1::Info info;
    info.set_version("0.1.0");
    info.set_network("internet");
    info.set_engine("podman 4.3.1");
    info.mutable_limits()->set_max_timeout_ms(900'000);
    info.mutable_limits()->set_memory_bytes(1'073'741'824);
    info.mutable_limits()->set_cpus_milli(2000);
    info.mutable_limits()->set_pids(256);
    info.mutable_limits()->set_idle_ms(300'000);
    return info;
  }

  Endpoint& endpoint() {
    if (endpoint_ == nullptr) {
      endpoint_ = MakeEndpoint(agent_, links_, clock_, random_, settings_, std::move(registry_));
    }
    return *endpoint_;
  }

  static Request Body(std::string body) {
    Request request{.caller = {.principal = *PrincipalId::Parse("key-one"), .name = "one"},
                    .body = std::move(body),
                    .protocol_version = {},
                    .method = {},
                    .name = {},
                    .accepts_event_stream = true,
                    .headers = {},
                    .public_base = "https://box.example"};
    return request;
  }

  // As clients of 2025-11-25 send it; `params` without braces.
  static Request Legacy(std::string_view method, std::string_view params = "",
                        std::string_view id = "1") {
    Request request = Body(StrCat(R"({"jsonrpc":"2.0","id":)", id, R"(,"method":")", method,
                                  R"(","params":{)", params, "}}"));
    request.protocol_version = "2025-11-25";
    return request;
  }

  static constexpr std::string_view kMeta =
      R"("_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",)"
      R"("io.modelcontextprotocol/clientCapabilities":{}})";

  // As clients of 2026-07-28 send it.
  static Request Modern(std::string_view method, std::string_view params = "",
                        std::string_view id = "1") {
    Request request = Legacy(method, StrCat(params, params.empty() ? "" : ",", kMeta), id);
    request.protocol_version = "2026-07-28";
    request.method = std::string(method);
    return request;
  }

  static Request LegacyCall(std::string_view tool, std::string_view arguments,
                            std::string_view id = "1") {
    return Legacy("tools/call", StrCat(R"("name":")", tool, R"(","arguments":{)", arguments, "}"),
                  id);
  }
  static Request ModernCall(std::string_view tool, std::string_view arguments) {
    Request request =
        Modern("tools/call", StrCat(R"("name":")", tool, R"(","arguments":{)", arguments, "}"));
    request.name = std::string(tool);
    return request;
  }

  std::unique_ptr<Call> Start(Request request) {
    auto call = std::make_unique<Call>();
    Call* raw = call.get();
    auto finished = [raw](const std::exception_ptr& error, Reply reply) {
      ASSERT_FALSE(error);
      raw->reply_ = std::move(reply);
    };
    boost::asio::co_spawn(
        io_, endpoint().Handle(std::move(request), events_),
        boost::asio::bind_cancellation_slot(raw->signal_.slot(), std::move(finished)));
    Pump();
    return call;
  }

  // Everything that can happen now.
  void Pump() {
    io_.restart();
    io_.poll();
  }

  // Waits for what takes time of its own, such as the pause before a retry.
  void Finish(const Call& call) {
    io_.restart();
    while (!call.done() && io_.run_one() > 0) {
    }
  }

  Reply Ask(Request request) {
    const std::unique_ptr<Call> call = Start(std::move(request));
    Finish(*call);
    EXPECT_TRUE(call->done());
    return call->done() ? call->reply() : Reply{};
  }

  static json::object Parsed(const Reply& reply) { return json::parse(reply.body).as_object(); }
  // 0: no error.
  static std::int64_t ErrorCode(const Reply& reply) {
    const json::object body = Parsed(reply);
    const json::value* error = body.if_contains("error");
    return error == nullptr ? 0 : error->as_object().at("code").as_int64();
  }
  static json::object ResultOf(const Reply& reply) {
    const json::object body = Parsed(reply);
    return body.contains("result") ? body.at("result").as_object() : json::object();
  }
  // The first block of a tool's result.
  static std::string TextOf(const Reply& reply) {
    const json::object result = ResultOf(reply);
    if (!result.contains("content")) return reply.body;
    const json::object block = result.at("content").as_array().at(0).as_object();
    return std::string(block.at("text").as_string());
  }
  static bool IsToolError(const Reply& reply) {
    const json::object result = ResultOf(reply);
    return result.contains("isError") && result.at("isError").as_bool();
  }

  static v1::JobEvent Started(std::string_view label = "amber-otter-417",
                              v1::JobStarted::Arrival arrival = v1::JobStarted::NEW) {
    v1::JobEvent event;
    event.mutable_started()->mutable_sandbox()->set_label(std::string(label));
    event.mutable_started()->set_arrival(arrival);
    return event;
  }
  static v1::JobEvent Output(std::int64_t offset, std::string_view data) {
    v1::JobEvent event;
    event.mutable_output()->set_offset(offset);
    event.mutable_output()->set_data(std::string(data));
    return event;
  }
  static v1::JobEvent Exited(int code) { return Ended(v1::Outcome::EXITED, code); }
  static v1::JobEvent Ended(v1::Outcome::Ending ending, int code) {
    v1::JobEvent event;
    event.mutable_outcome()->set_ending(ending);
    event.mutable_outcome()->set_code(code);
    return event;
  }

  boost::asio::io_context io_;
  FakeAgentClient agent_;
  FakeLinks links_;
  FakeClock clock_;
  FakeRandom random_;
  KeptEvents events_;
  EndpointSettings settings_;
  Registry registry_;  // Taken by the first request.

 private:
  std::unique_ptr<Endpoint> endpoint_;
};

}  // namespace sandkeep::mcp
