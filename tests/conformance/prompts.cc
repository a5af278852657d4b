#include "gateway/mcp/prompts.h"

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "common/strings.h"
#include "tests/conformance/fixtures.h"
#include "tests/conformance/questions.h"

namespace sandkeep::mcp {
namespace {

namespace json = boost::json;

using Make = std::function<PromptResult(CallContext&, const Prompt::Arguments&)>;

class FixturePrompt : public Prompt {
 public:
  FixturePrompt(std::string_view name, std::vector<PromptArgument> arguments, Make make)
      : name_(name), arguments_(std::move(arguments)), make_(std::move(make)) {}

  std::string_view name() const override { return name_; }
  PromptDescription Describe() const override {
    return {
        .title = std::string(name_), .text = "For the conformance suite.", .arguments = arguments_};
  }
  Async<PromptResult> Get(CallContext& context, Arguments arguments) override {
    co_return make_(context, arguments);
  }
  bool completes() const override { return !arguments_.empty(); }
  std::vector<std::string> Complete(std::string_view /*argument*/,
                                    std::string_view begun) const override {
    std::vector<std::string> fitting;
    for (const std::string_view value : {"paris", "park", "party"}) {
      if (value.substr(0, begun.size()) == begun) fitting.emplace_back(value);
    }
    return fitting;
  }

 private:
  const std::string_view name_;
  const std::vector<PromptArgument> arguments_;
  const Make make_;
};

PromptResult Said(std::vector<ContentBlock> blocks) {
  PromptResult result;
  for (ContentBlock& block : blocks) result.messages.push_back({.content = std::move(block)});
  return result;
}

PromptResult WithArguments(CallContext& /*context*/, const Prompt::Arguments& arguments) {
  return Said({TextBlock{StrCat("Prompt with arguments: arg1='", arguments.at("arg1"), "', arg2='",
                                arguments.at("arg2"), "'")}});
}

PromptResult WithResource(CallContext& /*context*/, const Prompt::Arguments& arguments) {
  return Said({ResourceContent{.uri = arguments.at("resourceUri"),
                               .mime_type = "text/plain",
                               .bytes = "Embedded resource content for testing.",
                               .is_text = true},
               TextBlock{"Please process the embedded resource above."}});
}

PromptResult WithImage(CallContext& /*context*/, const Prompt::Arguments& /*arguments*/) {
  return Said({ImageBlock{.bytes = std::string(FixtureImage()), .mime_type = "image/png"},
               TextBlock{"Please analyze the image above."}});
}

PromptResult Asking(CallContext& context, const Prompt::Arguments& /*arguments*/) {
  const json::value* answer = FieldOf(context, "user_context", "context");
  if (answer != nullptr && answer->is_string()) {
    return Said(
        {TextBlock{StrCat("Use the following context: ", std::string(answer->get_string()))}});
  }
  PromptResult result;
  result.questions.emplace();
  result.questions->requests["user_context"] =
      AskPerson("What context should the prompt use?", "context");
  return result;
}

PromptResult Simple(CallContext& /*context*/, const Prompt::Arguments& /*arguments*/) {
  return Said({TextBlock{"This is a simple prompt for testing."}});
}

PromptArgument Required(std::string_view name, std::string_view description) {
  return {.name = std::string(name), .description = std::string(description), .required = true};
}

}  // namespace

void AddFixturePrompts(Prompts* prompts) {
  auto add = [prompts](std::string_view name, std::vector<PromptArgument> arguments, Make make) {
    prompts->push_back(
        std::make_unique<FixturePrompt>(name, std::move(arguments), std::move(make)));
  };
  add("test_simple_prompt", {}, Simple);
  add("test_prompt_with_arguments",
      {Required("arg1", "First test argument"), Required("arg2", "Second test argument")},
      WithArguments);
  add("test_prompt_with_embedded_resource", {Required("resourceUri", "The resource to embed")},
      WithResource);
  add("test_prompt_with_image", {}, WithImage);
  add("test_input_required_result_prompt", {}, Asking);
}

}  // namespace sandkeep::mcp
