// Tools that say something before they are done.
#include <array>
#include <memory>
#include <string>

#include "common/strings.h"
#include "gateway/mcp/strict_json.h"
#include "tests/conformance/fixtures.h"

namespace sandkeep::mcp {
namespace {

ToolDescription Described(std::string_view name, std::string_view text) {
  ToolDescription description;
  description.title = std::string(name);
  description.text = std::string(text);
  description.read_only = true;
  return description;
}

void LogInfo(CallContext& context, std::string_view data) {
  std::string message =
      R"({"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":)";
  AppendJsonString(&message, data);
  message += "}}";
  context.events.Notify(std::move(message));
}

class ProgressTool : public Tool {
 public:
  std::string_view name() const override { return "test_tool_with_progress"; }
  ToolDescription Describe(const agent::v1::Info* /*host*/) const override {
    return Described(name(), "For the conformance suite: tells how far it is.");
  }
  Async<ToolResult> Call(CallContext& context, Arguments /*arguments*/) override {
    if (context.progress.wanted()) {
      for (const int done : {0, 50, 100}) {
        context.events.Notify(StrCat(
            R"({"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":)",
            context.progress.token(), R"(,"progress":)", done, R"(,"total":100}})"));
      }
    }
    co_return ToolResult::Text("Tool with progress executed successfully");
  }
};

class LoggingTool : public Tool {
 public:
  std::string_view name() const override { return "test_tool_with_logging"; }
  ToolDescription Describe(const agent::v1::Info* /*host*/) const override {
    return Described(name(), "For the conformance suite: logs three messages.");
  }
  Async<ToolResult> Call(CallContext& context, Arguments /*arguments*/) override {
    for (const std::string_view step :
         {"Tool execution started", "Tool processing data", "Tool execution completed"}) {
      LogInfo(context, step);
    }
    co_return ToolResult::Text("Tool with logging executed successfully");
  }
};

// In 2026-07-28 a request says whether it wants to hear of it.
class ModernLoggingTool : public Tool {
 public:
  std::string_view name() const override { return "test_logging_tool"; }
  ToolDescription Describe(const agent::v1::Info* /*host*/) const override {
    return Described(name(), "For the conformance suite: logs for who asked to be logged to.");
  }
  Async<ToolResult> Call(CallContext& context, Arguments /*arguments*/) override {
    if (context.meta.contains("io.modelcontextprotocol/logLevel")) LogInfo(context, "logged");
    co_return ToolResult::Text("Logged, if that was wanted.");
  }
};

}  // namespace

void AddStreamingTools(Tools* tools) {
  tools->push_back(std::make_unique<ProgressTool>());
  tools->push_back(std::make_unique<LoggingTool>());
  tools->push_back(std::make_unique<ModernLoggingTool>());
}

}  // namespace sandkeep::mcp
