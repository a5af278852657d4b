#include "tests/conformance/questions.h"

#include <boost/json/array.hpp>
#include <utility>

namespace sandkeep::mcp {
namespace {

namespace json = boost::json;

json::object Question(std::string_view method, json::object params) {
  json::object request;
  request["method"] = json::string_view(method);
  request["params"] = std::move(params);
  return request;
}

bool Answers(const json::object& question, const json::object& answer) {
  const json::string& method = question.at("method").as_string();
  if (method == "roots/list") {
    return answer.contains("roots") && answer.at("roots").is_array();
  }
  if (method == "sampling/createMessage") return answer.contains("content");
  const json::value* action = answer.if_contains("action");
  return action != nullptr && action->is_string() && action->get_string() == "accept" &&
         answer.contains("content") && answer.at("content").is_object();
}

}  // namespace

json::object AskPerson(std::string_view message, std::string_view field, std::string_view type) {
  json::object kind;
  kind["type"] = json::string_view(type);
  json::object properties;
  properties[json::string_view(field)] = std::move(kind);
  json::object schema;
  schema["type"] = "object";
  schema["properties"] = std::move(properties);
  schema["required"] = json::array{json::string_view(field)};
  json::object params;
  params["message"] = json::string_view(message);
  params["requestedSchema"] = std::move(schema);
  return Question("elicitation/create", std::move(params));
}

json::object AskModel(std::string_view text) {
  json::object content;
  content["type"] = "text";
  content["text"] = json::string_view(text);
  json::object message;
  message["role"] = "user";
  message["content"] = std::move(content);
  json::object params;
  params["messages"] = json::array{std::move(message)};
  params["maxTokens"] = 100;
  return Question("sampling/createMessage", std::move(params));
}

json::object AskForRoots() { return Question("roots/list", json::object()); }

bool AllAnswered(const CallContext& context, const json::object& questions) {
  for (const auto& question : questions) {
    const json::object* answer = context.AnswerTo(question.key());
    if (answer == nullptr || !Answers(question.value().as_object(), *answer)) return false;
  }
  return true;
}

const json::value* FieldOf(const CallContext& context, std::string_view question,
                           std::string_view field) {
  const json::object* answer = context.AnswerTo(question);
  if (answer == nullptr) return nullptr;
  const json::value* content = answer->if_contains("content");
  if (content == nullptr || !content->is_object()) return nullptr;
  return content->get_object().if_contains(json::string_view(field));
}

}  // namespace sandkeep::mcp
