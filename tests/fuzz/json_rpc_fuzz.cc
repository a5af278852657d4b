// A message and the three headers that mirror it, one a line before the body. What is answered is
// JSON with the id that came.
#include <boost/json/parse.hpp>
#include <optional>
#include <string>
#include <variant>

#include "common/limits.h"
#include "gateway/mcp/era.h"
#include "gateway/mcp/json_rpc.h"
#include "gateway/mcp/strict_json.h"
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

}  // namespace
}  // namespace sandkeep

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sandkeep;
  std::string_view text = AsText(data, size);
  const mcp::Request request = RequestOf(&text);
  const auto parsed = mcp::ParseBody(text);
  if (const auto* malformed = std::get_if<mcp::Malformed>(&parsed)) {
    CheckAnswer(malformed->id, malformed->error);
    return 0;
  }
  CheckMessages(request, std::get<mcp::Incoming>(parsed));
  return 0;
}
