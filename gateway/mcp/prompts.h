// Prompts: texts that a person picks in their client, and the methods of the protocol that list and
// give them. Any thread.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/async.h"
#include "gateway/mcp/call_context.h"
#include "gateway/mcp/content.h"
#include "gateway/mcp/method.h"
#include "gateway/mcp/questions.h"

namespace sandkeep::mcp {

struct PromptArgument {
  std::string name;
  std::string description;
  bool required = false;
};

struct PromptDescription {
  std::string title;
  std::string text;
  std::vector<PromptArgument> arguments;
};

struct PromptMessage {
  std::string role = "user";
  ContentBlock content;
};

struct PromptResult {
  std::vector<PromptMessage> messages;
  // Then there are no messages yet.
  std::optional<Questions> questions = std::nullopt;
};

class Prompt {
 public:
  using Arguments = std::map<std::string, std::string>;

  virtual ~Prompt() = default;
  virtual std::string_view name() const = 0;
  virtual PromptDescription Describe() const = 0;
  // `arguments`: every required one is there.
  virtual Async<PromptResult> Get(CallContext& context, Arguments arguments) = 0;

  // Values for one of its arguments that begin with what is there.
  virtual bool completes() const { return false; }
  virtual std::vector<std::string> Complete(std::string_view /*argument*/,
                                            std::string_view /*begun*/) const {
    return {};
  }
};

using Prompts = std::vector<std::unique_ptr<Prompt>>;

// prompts/list and prompts/get. The prompts outlive the methods.
void AddPromptMethods(const Prompts& prompts, Methods* methods);

// nullptr: none.
Prompt* FindPrompt(const Prompts& prompts, std::string_view name);

}  // namespace sandkeep::mcp
