#include "gateway/mcp/tools/execute.h"

#include <utility>

#include "common/limits.h"
#include "common/status_macros.h"
#include "common/strings.h"
#include "gateway/mcp/tools/one_sandbox.h"

namespace sandkeep::mcp {
namespace {

constexpr std::string_view kWhat =
    "Run a bash command as root in the person's own Debian sandbox. It starts in /sandbox, where "
    "files persist; installed packages stay, too. Each call is a new shell: cd and exported "
    "variables don't carry over. Returns stdout, stderr and the exit code, each stream without its "
    "middle if it is long. A command that outlasts the waiting is handed back as [running] with "
    "its job and runs on: wait_command waits for more, stop_command ends it. A process that is to "
    "run on for itself: setsid nohup COMMAND > LOG 2>&1 &. Nobody types input: use options such as "
    "-y. Hand files to the person with share_file.";

}  // namespace

ToolDescription Execute::Describe(const agent::v1::Info* host) const {
  ToolDescription description = run_.Describe(host);
  description.title = "Execute a command";
  description.text = std::string(kWhat);
  boost::json::object properties;
  properties["command"] = description.properties.at("command");
  properties["timeout"] = description.properties.at("timeout_seconds");
  description.properties = std::move(properties);
  description.required = {"command"};
  return description;
}

Async<ToolResult> Execute::Call(CallContext& context, Arguments arguments) {
  CO_RETURN_IF_ERROR(arguments.AllowOnly({"command", "timeout"}));
  boost::json::object values = arguments.Take();
  if (const boost::json::value* timeout = values.if_contains("timeout")) {
    values["timeout_seconds"] = *timeout;
    values.erase("timeout");
  }
  values["sandbox"] = boost::json::string_view(kOnlySandbox);
  context.persistent = true;
  Arguments whole(std::move(values));
  auto call = run_.Call(context, std::move(whole));
  co_return co_await std::move(call);
}

}  // namespace sandkeep::mcp
