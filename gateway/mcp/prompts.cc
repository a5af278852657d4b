#include "gateway/mcp/prompts.h"

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <utility>

#include "common/strings.h"
#include "common/utf8.h"
#include "gateway/mcp/strict_json.h"

namespace sandkeep::mcp {
namespace {

namespace json = boost::json;
using boost::asio::awaitable;

constexpr std::int64_t kListKeptMs = 300'000;

json::object Listed(const Prompt& prompt) {
  const PromptDescription description = prompt.Describe();
  json::object listed;
  listed["name"] = json::string_view(prompt.name());
  listed["title"] = description.title;
  listed["description"] = description.text;
  json::array arguments;
  for (const PromptArgument& argument : description.arguments) {
    json::object one;
    one["name"] = argument.name;
    one["description"] = argument.description;
    one["required"] = argument.required;
    arguments.push_back(std::move(one));
  }
  listed["arguments"] = std::move(arguments);
  return listed;
}

class ListPrompts : public Method {
 public:
  explicit ListPrompts(const Prompts& prompts) : prompts_(prompts) {}
  std::string_view name() const override { return "prompts/list"; }

  awaitable<MethodAnswer> Call(CallContext& /*context*/, json::object /*params*/) override {
    json::array list;
    for (const auto& prompt : prompts_) list.push_back(Listed(*prompt));
    co_return MethodResult{.members = StrCat(R"("prompts":)", json::serialize(list)),
                           .ttl_ms = kListKeptMs};
  }

 private:
  const Prompts& prompts_;
};

// InvalidArgument: says which is missing or no text.
absl::StatusOr<Prompt::Arguments> ArgumentsOf(const json::object& params, const Prompt& prompt) {
  Prompt::Arguments arguments;
  const json::value* given = params.if_contains("arguments");
  if (given != nullptr && given->is_object()) {
    for (const auto& member : given->get_object()) {
      if (!member.value().is_string()) {
        return absl::InvalidArgumentError("A prompt's arguments must be texts.");
      }
      arguments.emplace(member.key(), member.value().get_string());
    }
  }
  for (const PromptArgument& argument : prompt.Describe().arguments) {
    if (argument.required && arguments.count(argument.name) == 0) {
      return absl::InvalidArgumentError(StrCat("The argument ", argument.name, " is missing."));
    }
  }
  return arguments;
}

class GetPrompt : public Method {
 public:
  explicit GetPrompt(const Prompts& prompts) : prompts_(prompts) {}
  std::string_view name() const override { return "prompts/get"; }

  awaitable<MethodAnswer> Call(CallContext& context, json::object params) override {
    const json::string* name = TextIn(params, "name");
    Prompt* prompt = name == nullptr ? nullptr : FindPrompt(prompts_, *name);
    if (prompt == nullptr) co_return BadParams("params.name must be the name of a prompt.");
    absl::StatusOr<Prompt::Arguments> arguments = ArgumentsOf(params, *prompt);
    if (!arguments.ok()) co_return ErrorOf(arguments.status());
    absl::StatusOr<PromptResult> result = co_await prompt->Get(context, *std::move(arguments));
    if (!result.ok()) co_return ErrorOf(result.status());
    MethodResult answer{.members = MessagesOf(*result)};
    answer.questions = std::move(result->questions);
    co_return answer;
  }

 private:
  static std::string MessagesOf(const PromptResult& result) {
    std::string members = R"("messages":[)";
    for (const PromptMessage& message : result.messages) {
      StrAppend(&members, members.back() == '[' ? "" : ",", R"({"role":")", message.role,
                R"(","content":)");
      AppendBlock(&members, message.content);
      members += "}";
    }
    members += "]";
    return members;
  }

  const Prompts& prompts_;
};

}  // namespace

void AddPromptMethods(const Prompts& prompts, Methods* methods) {
  methods->push_back(std::make_unique<ListPrompts>(prompts));
  methods->push_back(std::make_unique<GetPrompt>(prompts));
}

Prompt* FindPrompt(const Prompts& prompts, std::string_view name) {
  for (const auto& prompt : prompts) {
    if (prompt->name() == name) return prompt.get();
  }
  return nullptr;
}

}  // namespace sandkeep::mcp
