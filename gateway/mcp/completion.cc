#include "gateway/mcp/completion.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <string>
#include <utility>
#include <vector>

#include "common/limits.h"
#include "common/strings.h"

namespace sandkeep::mcp {
namespace {

namespace json = boost::json;
using boost::asio::awaitable;

// What is asked: for which variable of what, and what is typed already.
struct Asked {
  std::string type;
  std::string of;  // A prompt's name, or a template.
  std::string variable;
  std::string begun;
};

absl::StatusOr<Asked> AskedIn(const json::object& params) {
  const json::value* ref = params.if_contains("ref");
  const json::value* argument = params.if_contains("argument");
  if (ref == nullptr || !ref->is_object() || argument == nullptr || !argument->is_object()) {
    return absl::InvalidArgumentError("params.ref and params.argument must be objects.");
  }
  const json::string* type = TextIn(ref->get_object(), "type");
  const bool is_prompt = type != nullptr && *type == "ref/prompt";
  const json::string* of = TextIn(ref->get_object(), is_prompt ? "name" : "uri");
  const json::string* variable = TextIn(argument->get_object(), "name");
  const json::string* begun = TextIn(argument->get_object(), "value");
  if (type == nullptr || of == nullptr || variable == nullptr || begun == nullptr ||
      std::max(of->size(), begun->size()) > kMaxResourceUriBytes) {
    return absl::InvalidArgumentError(
        "params.ref and params.argument must be those of a prompt or "
        "of a resource template.");
  }
  return Asked{.type = std::string(*type),
               .of = std::string(*of),
               .variable = std::string(*variable),
               .begun = std::string(*begun)};
}

MethodResult Shown(const std::vector<std::string>& values) {
  json::object completion;
  json::array shown;
  for (std::size_t i = 0; i < std::min(values.size(), kMaxCompletionValues); ++i) {
    shown.emplace_back(values[i]);
  }
  completion["values"] = std::move(shown);
  completion["total"] = values.size();
  completion["hasMore"] = values.size() > kMaxCompletionValues;
  return {.members = StrCat(R"("completion":)", json::serialize(completion))};
}

bool HasTemplate(const ResourceSource& source, std::string_view uri_template) {
  const std::vector<ResourceTemplate> all = source.Templates();
  return std::any_of(all.begin(), all.end(),
                     [&](const ResourceTemplate& one) { return one.uri_template == uri_template; });
}

class Complete : public Method {
 public:
  Complete(const Prompts& prompts, const ResourceSources& sources)
      : prompts_(prompts), sources_(sources) {}
  std::string_view name() const override { return "completion/complete"; }

  awaitable<MethodAnswer> Call(CallContext& context, json::object params) override {
    absl::StatusOr<Asked> asked = AskedIn(params);
    if (!asked.ok()) co_return ErrorOf(asked.status());
    if (asked->type == "ref/prompt") {
      const Prompt* prompt = FindPrompt(prompts_, asked->of);
      if (prompt == nullptr) co_return BadParams("There is no such prompt.");
      co_return Shown(prompt->Complete(asked->variable, asked->begun));
    }
    for (const auto& source : sources_) {
      if (!HasTemplate(*source, asked->of)) continue;
      const auto values =
          co_await source->Complete(context, asked->of, asked->variable, asked->begun);
      if (!values.ok()) co_return ErrorOf(values.status());
      co_return Shown(*values);
    }
    co_return BadParams("There is no such resource template.");
  }

 private:
  const Prompts& prompts_;
  const ResourceSources& sources_;
};

}  // namespace

bool AnyCompletes(const Prompts& prompts, const ResourceSources& sources) {
  const auto completes = [](const auto& one) { return one->completes(); };
  return std::any_of(prompts.begin(), prompts.end(), completes) ||
         std::any_of(sources.begin(), sources.end(), completes);
}

void AddCompletionMethod(const Prompts& prompts, const ResourceSources& sources, Methods* methods) {
  methods->push_back(std::make_unique<Complete>(prompts, sources));
}

}  // namespace sandkeep::mcp
