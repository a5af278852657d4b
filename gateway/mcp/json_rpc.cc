#include "gateway/mcp/json_rpc.h"

#include <boost/json/serialize.hpp>
#include <optional>
#include <utility>

#include "common/limits.h"
#include "common/strings.h"
#include "gateway/mcp/strict_json.h"

namespace sandkeep::mcp {
namespace {

namespace json = boost::json;

Malformed Refuse(int code, std::string message, std::string id = {}) {
  return Malformed{.id = std::move(id),
                   .error = {.code = code, .message = std::move(message), .data = {}}};
}

// The id as JSON text; nullopt if it is of no type that an id may have.
std::optional<std::string> ReadId(const json::value& id) {
  if (id.is_int64() || id.is_uint64()) return json::serialize(id);
  const json::string* text = id.if_string();
  if (text == nullptr || text->size() > kMaxRequestIdBytes) return std::nullopt;
  return json::serialize(id);
}

std::variant<Message, Malformed> ReadMessage(json::value& value) {
  json::object* object = value.if_object();
  if (object == nullptr) return Refuse(kInvalidRequest, "The message is not a JSON object.");
  const json::value* id = object->if_contains("id");
  std::optional<std::string> id_text;
  if (id != nullptr) id_text = ReadId(*id);
  const std::string echo = id_text.value_or("");

  const json::value* version = object->if_contains("jsonrpc");
  if (version == nullptr || !version->is_string() || version->get_string() != "2.0") {
    return Refuse(kInvalidRequest, "jsonrpc must be \"2.0\".", echo);
  }
  const json::value* method = object->if_contains("method");
  if (method == nullptr) {
    const bool answers = object->contains("result") || object->contains("error");
    if (!answers) return Refuse(kInvalidRequest, "method is missing.", echo);
    return Message{.kind = Message::Kind::kResponse, .id = {}, .method = {}, .params = {}};
  }
  if (!method->is_string()) return Refuse(kInvalidRequest, "method must be a string.", echo);
  if (id != nullptr && !id_text) {
    return Refuse(kInvalidRequest, StrCat("id must be an integer or a string of at most ",
                                          kMaxRequestIdBytes, " bytes."));
  }
  Message message;
  message.kind = id == nullptr ? Message::Kind::kNotification : Message::Kind::kRequest;
  message.id = echo;
  message.method = std::string(method->get_string());
  json::value* params = object->if_contains("params");
  if (params == nullptr || params->is_null()) return message;
  if (!params->is_object()) return Refuse(kInvalidRequest, "params must be an object.", echo);
  message.params = std::move(params->get_object());
  return message;
}

std::variant<Incoming, Malformed> ReadBatch(json::array& elements) {
  if (elements.empty()) return Refuse(kInvalidRequest, "The array of messages is empty.");
  if (elements.size() > kMaxBatchMessages) {
    return Refuse(kInvalidRequest,
                  StrCat("The array has more than ", kMaxBatchMessages, " messages."));
  }
  Incoming incoming;
  incoming.batch = true;
  for (json::value& element : elements) {
    auto message = ReadMessage(element);
    if (auto* malformed = std::get_if<Malformed>(&message)) {
      malformed->id.clear();  // The answer is to the array.
      return std::move(*malformed);
    }
    incoming.messages.push_back(std::move(std::get<Message>(message)));
  }
  return incoming;
}

}  // namespace

std::variant<Incoming, Malformed> ParseBody(std::string_view body) {
  auto value = ParseStrictJson(body);
  if (!value.ok()) {
    return Refuse(kParseError, StrCat("The body is not JSON that this server reads: ",
                                      ToStd(value.status().message()), "."));
  }
  if (json::array* elements = value->if_array()) return ReadBatch(*elements);
  auto message = ReadMessage(*value);
  if (auto* malformed = std::get_if<Malformed>(&message)) return std::move(*malformed);
  Incoming incoming;
  incoming.messages.push_back(std::move(std::get<Message>(message)));
  return incoming;
}

RpcError BadParams(std::string message) {
  return RpcError{.code = kInvalidParams, .message = std::move(message), .data = {}};
}

std::string ResultBody(std::string_view id, std::string_view result) {
  return StrCat(R"({"jsonrpc":"2.0","id":)", id, R"(,"result":)", result, "}");
}

std::string ErrorBody(std::string_view id, const RpcError& error) {
  std::string body = R"({"jsonrpc":"2.0",)";
  if (!id.empty()) StrAppend(&body, R"("id":)", id, ",");
  StrAppend(&body, R"("error":{"code":)", error.code, R"(,"message":)");
  AppendJsonString(&body, error.message);
  if (!error.data.empty()) StrAppend(&body, R"(,"data":)", json::serialize(error.data));
  body += "}}";
  return body;
}

std::string BatchBody(const std::vector<std::string>& bodies) {
  std::string batch = "[";
  for (const std::string& body : bodies) StrAppend(&batch, batch.size() > 1 ? "," : "", body);
  batch += "]";
  return batch;
}

}  // namespace sandkeep::mcp
