// Tools that ask their client before they go on.
#include <memory>
#include <string>
#include <utility>

#include "common/strings.h"
#include "gateway/mcp/era.h"
#include "tests/conformance/fixtures.h"
#include "tests/conformance/questions.h"

namespace sandkeep::mcp {
namespace {

namespace json = boost::json;

ToolDescription Described(std::string_view name) {
  ToolDescription description;
  description.title = std::string(name);
  description.text = "For the conformance suite: asks its client before it goes on.";
  description.read_only = true;
  return description;
}

ToolResult Ask(json::object questions, std::string state) {
  ToolResult result;
  result.questions = Questions{.requests = std::move(questions), .state = std::move(state)};
  return result;
}

// Asks the same questions until all are answered, and wants its state back if it gave one out.
class AskingTool : public Tool {
 public:
  AskingTool(std::string_view name, json::object questions, std::string state, std::string done)
      : name_(name),
        questions_(std::move(questions)),
        state_(std::move(state)),
        done_(std::move(done)) {}

  std::string_view name() const override { return name_; }
  ToolDescription Describe(const agent::v1::Info* /*host*/) const override {
    return Described(name_);
  }
  Async<ToolResult> Call(CallContext& context, Arguments /*arguments*/) override {
    if (context.state == state_ && AllAnswered(context, questions_)) {
      co_return ToolResult::Text(done_);
    }
    co_return Ask(questions_, state_);
  }

 private:
  const std::string_view name_;
  const json::object questions_;
  const std::string state_;
  const std::string done_;
};

class GreetingTool : public Tool {
 public:
  std::string_view name() const override { return "test_input_required_result_elicitation"; }
  ToolDescription Describe(const agent::v1::Info* /*host*/) const override {
    return Described(name());
  }
  Async<ToolResult> Call(CallContext& context, Arguments /*arguments*/) override {
    const json::value* answer = FieldOf(context, "user_name", "name");
    if (answer != nullptr && answer->is_string()) {
      co_return ToolResult::Text(StrCat("Hello, ", std::string(answer->get_string()), "!"));
    }
    json::object questions;
    questions["user_name"] = AskPerson("What is your name?", "name");
    co_return Ask(std::move(questions), "");
  }
};

class TwoStepTool : public Tool {
 public:
  std::string_view name() const override { return "test_input_required_result_multi_round"; }
  ToolDescription Describe(const agent::v1::Info* /*host*/) const override {
    return Described(name());
  }
  Async<ToolResult> Call(CallContext& context, Arguments /*arguments*/) override {
    json::object first, second;
    first["step1"] = AskPerson("Step 1: What is your name?", "name");
    second["step2"] = AskPerson("Step 2: What is your favorite color?", "color");
    if (context.state == "second" && AllAnswered(context, second)) {
      co_return ToolResult::Text("Both steps are done.");
    }
    const bool goes_on =
        context.state == "second" || (context.state == "first" && AllAnswered(context, first));
    if (goes_on) co_return Ask(std::move(second), "second");
    co_return Ask(std::move(first), "first");
  }
};

// Asks what this client says that it can answer.
class ConsiderateTool : public Tool {
 public:
  std::string_view name() const override { return "test_input_required_result_capabilities"; }
  ToolDescription Describe(const agent::v1::Info* /*host*/) const override {
    return Described(name());
  }
  Async<ToolResult> Call(CallContext& context, Arguments /*arguments*/) override {
    const json::object& declared = DeclaredIn(context.meta);
    json::object questions;
    if (declared.contains("elicitation")) questions["name"] = AskPerson("Your name?", "name");
    if (declared.contains("sampling")) questions["word"] = AskModel("Say a word.");
    if (questions.empty() || AllAnswered(context, questions)) {
      co_return ToolResult::Text("There is nothing more to ask this client.");
    }
    co_return Ask(std::move(questions), "");
  }
};

}  // namespace

void AddAskingTools(Tools* tools) {
  auto add = [tools](std::string_view name, json::object questions, std::string state,
                     std::string done) {
    tools->push_back(std::make_unique<AskingTool>(name, std::move(questions), std::move(state),
                                                  std::move(done)));
  };
  json::object model, roots, confirm, all;
  model["capital_question"] = AskModel("What is the capital of France?");
  roots["client_roots"] = AskForRoots();
  confirm["confirm"] = AskPerson("Please confirm", "ok", "boolean");
  all["user_name"] = AskPerson("What is your name?", "name");
  all["greeting"] = AskModel("Generate a greeting");
  all["client_roots"] = AskForRoots();
  tools->push_back(std::make_unique<GreetingTool>());
  tools->push_back(std::make_unique<TwoStepTool>());
  tools->push_back(std::make_unique<ConsiderateTool>());
  add("test_input_required_result_sampling", model, "", "The model has answered.");
  add("test_missing_capability", model, "", "The model has answered.");
  add("test_input_required_result_list_roots", roots, "", "The roots are known.");
  add("test_input_required_result_request_state", confirm, "asked", "state-ok");
  add("test_input_required_result_tampered_state", confirm, "asked", "state-ok");
  add("test_input_required_result_multiple_inputs", all, "asked", "All is answered.");
}

}  // namespace sandkeep::mcp
