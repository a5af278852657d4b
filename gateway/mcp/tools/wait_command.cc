#include "gateway/mcp/tools/wait_command.h"

#include <utility>

#include "common/limits.h"
#include "common/status_macros.h"
#include "common/strings.h"
#include "gateway/mcp/tools/job_answer.h"
#include "gateway/mcp/tools/job_argument.h"
#include "gateway/mcp/tools/sandbox_argument.h"

namespace sandkeep::mcp {
namespace {

constexpr std::string_view kWhat =
    "Wait for a command that run_command handed back as [running]: returns what it has printed "
    "since, and its exit code once it has ended. Ask again as long as it runs.";

}  // namespace

ToolDescription WaitCommand::Describe(const agent::v1::Info* /*host*/) const {
  ToolDescription description;
  description.title = "Wait for a command";
  description.text = std::string(kWhat);
  description.properties["sandbox"] = Property("string", kSandboxDescription);
  description.properties["job"] = Property("string", kJobDescription);
  description.properties["wait_seconds"] =
      IntegerProperty(0, StrCat("Seconds to wait for its end, ", kDefaultWait.count(),
                                " if left out, at most ", kMaxWait.count(), "; 0 only looks."));
  description.properties["offset"] = IntegerProperty(0, kOffsetDescription);
  description.required = {"sandbox"};
  description.read_only = true;
  description.result_chars = ResultChars(services_.settings);
  return description;
}

Async<ToolResult> WaitCommand::Call(CallContext& context, Arguments arguments) {
  CO_RETURN_IF_ERROR(arguments.AllowOnly({"sandbox", "job", "wait_seconds", "offset"}));
  CO_ASSIGN_OR_RETURN(Wait wait, WaitOf(arguments));
  CO_ASSIGN_OR_RETURN(const NamedJob named,
                      co_await RequireJob(services_.agent, context, arguments));
  CO_ASSIGN_OR_RETURN(const JobOffset begin, OffsetOf(services_, context, named, arguments));
  auto more = AwaitMore(services_, context, named, begin, wait.span, std::move(wait.note));
  co_return co_await std::move(more);
}

}  // namespace sandkeep::mcp
