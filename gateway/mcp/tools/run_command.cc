#include "gateway/mcp/tools/run_command.h"

#include <memory>
#include <optional>
#include <utility>

#include "common/limits.h"
#include "common/status_macros.h"
#include "common/strings.h"
#include "gateway/mcp/tools/job_run.h"
#include "gateway/mcp/tools/job_text.h"
#include "gateway/mcp/tools/sandbox_argument.h"

namespace sandkeep::mcp {
namespace {

namespace v1 = agent::v1;

// What the other members of a result and the line of facts may need beside the output.
constexpr std::size_t kResultSlack = 8192;
// The largest that the client that knows this figure accepts.
constexpr std::size_t kMaxResultChars = 500000;

constexpr std::string_view kWhat =
    "Run a bash command as root in a Debian sandbox of its own, and wait for its end. It starts in "
    "/workspace. Each call is a new shell: cd and exported variables don't carry over, files do. "
    "Files below /workspace persist; installed packages, running processes and files elsewhere are "
    "lost when a sandbox that was idle for long is removed. Nobody types input: use options such "
    "as -y. What is started with & runs on. Nobody outside can reach a port of the sandbox and the "
    "person can't see its files: show them with present_file, a web page or a plot as a "
    "screenshot. The result's first line says the exit code and whether the sandbox is new, that "
    "is, empty; stdout and stderr follow in order, long output without its middle.";

std::string_view NetworkWords(const v1::Info* host) {
  if (host == nullptr) return {};
  if (host->network() == "internet") return " It reaches the internet, but no private network.";
  if (host->network() == "full") return " It reaches the internet and the host's local network.";
  if (host->network() == "none") return " It has no network.";
  return {};
}

std::string TimeoutWords(const v1::Info* host) {
  std::string words = "Seconds after which the command is ended, with exit code 124.";
  if (host == nullptr || host->limits().max_timeout_ms() <= 0) {
    return words + " Left out, it has as long as the server allows.";
  }
  StrAppend(&words, " At most ", host->limits().max_timeout_ms() / 1000,
            ", which is also the default.");
  return words;
}

absl::StatusOr<std::string> CommandOf(const Arguments& arguments) {
  ASSIGN_OR_RETURN(std::optional<std::string> command, arguments.Text("command"));
  if (!command || command->find_first_not_of(" \t\r\n") == std::string::npos) {
    return absl::InvalidArgumentError("The command is missing: give bash commands as command.");
  }
  if (command->size() > kMaxCommandBytes) {
    return absl::InvalidArgumentError(
        StrCat("The command has ", command->size(), " bytes, more than the ", kMaxCommandBytes,
               " that there may be: write its data to files below /workspace in several calls."));
  }
  if (command->find('\0') != std::string::npos) {
    return absl::InvalidArgumentError(
        "The command has a NUL character, which no shell can take: write it as \\0 for printf.");
  }
  return *std::move(command);
}

absl::StatusOr<std::optional<std::int64_t>> TimeoutOf(const Arguments& arguments) {
  ASSIGN_OR_RETURN(const std::optional<std::int64_t> seconds, arguments.Integer("timeout_seconds"));
  if (seconds && *seconds < 1) {
    return absl::InvalidArgumentError(
        "timeout_seconds must be at least 1: leave it out for as long as the server allows.");
  }
  return seconds;
}

std::int64_t TimeoutMs(std::optional<std::int64_t> seconds) {
  const std::int64_t none = std::chrono::seconds(kNoTimeout).count();
  return std::min(seconds.value_or(none), none) * 1000;
}

}  // namespace

ToolDescription RunCommand::Describe(const v1::Info* host) const {
  ToolDescription description;
  description.title = "Run a command";
  description.text = StrCat(kWhat, NetworkWords(host));
  description.properties["sandbox"] = Property("string", kSandboxDescription);
  description.properties["command"] =
      Property("string", "For bash: one command or a whole script, at most 1 MiB.");
  boost::json::object timeout = Property("integer", TimeoutWords(host));
  timeout["minimum"] = 1;
  description.properties["timeout_seconds"] = std::move(timeout);
  description.required = {"sandbox", "command"};
  description.destructive = true;
  description.open_world = true;
  description.result_chars = std::min(settings_.max_output_bytes + kResultSlack, kMaxResultChars);
  return description;
}

Async<ToolResult> RunCommand::Call(CallContext& context, Arguments arguments) {
  CO_RETURN_IF_ERROR(arguments.AllowOnly({"sandbox", "command", "timeout_seconds"}));
  CO_ASSIGN_OR_RETURN(v1::SandboxRef sandbox, co_await RequireSandbox(agent_, context, arguments));
  CO_ASSIGN_OR_RETURN(std::string command, CommandOf(arguments));
  CO_ASSIGN_OR_RETURN(const std::optional<std::int64_t> timeout, TimeoutOf(arguments));

  const JobId id = JobId::Random(random_);
  const auto job = std::make_shared<RunningJob>();
  job->sandbox = sandbox;
  job->job_id = id.bytes();
  // A modern client cancels by closing its stream.
  std::optional<RunningCalls::Entry> entry;
  if (context.era == Era::kLegacy) {
    entry.emplace(context.running_calls.Add(context.principal(), context.request_id, job));
  }

  v1::StartJobRequest request;
  *request.mutable_sandbox() = std::move(sandbox);
  request.set_job_id(id.bytes());
  request.set_command(std::move(command));
  request.set_merge_streams(true);
  request.set_timeout_ms(TimeoutMs(timeout));

  const bool ends_with_stream = context.era == Era::kModern && settings_.cancel_on_disconnect;
  JobRun run(agent_, job, ends_with_stream, settings_.max_output_bytes);
  CO_RETURN_IF_ERROR(co_await run.Follow(std::move(request)));
  context.sandbox = run.view().started.sandbox().label();
  const JobTextOptions options{.job_id = id.hex(), .timeout_given = timeout.has_value()};
  co_return ToolResult::Text(JobText(run.view(), clock_.Now(), options));
}

}  // namespace sandkeep::mcp
