#include "gateway/mcp/tools/run_command.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "common/limits.h"
#include "common/status_macros.h"
#include "common/strings.h"
#include "gateway/mcp/tools/job_answer.h"
#include "gateway/mcp/tools/job_argument.h"
#include "gateway/mcp/tools/job_tasks.h"
#include "gateway/mcp/tools/sandbox_argument.h"

namespace sandkeep::mcp {
namespace {

namespace v1 = agent::v1;

constexpr std::string_view kWhat =
    "Run a bash command as root in a Debian sandbox of its own. It starts in /workspace. Each call "
    "is a new shell: cd and exported variables don't carry over, files do. Files below /workspace "
    "persist. A sandbox that is idle for long loses what runs in it first, and later installed "
    "packages and files elsewhere. Nobody types input: use options such as -y, or stdin. "
    "Nobody outside can reach a port of the sandbox and the person can't see its files: show them "
    "with present_file, a web page or a plot as a screenshot. The result's first line says the "
    "exit code and whether the sandbox is new, that is, empty; stdout and stderr follow in order, "
    "long output without its middle. A command that outlasts the waiting is handed back as "
    "[running] with its job and runs on: wait_command waits for more, read_output reads any part, "
    "send_input types, stop_command ends it. Start servers and other long work with background.";

struct Wanted {
  std::string command;
  std::string stdin_text;
  std::string cwd;
  std::map<std::string, std::string> env;
  std::optional<std::int64_t> timeout;
  std::chrono::milliseconds wait{0};
  std::string wait_note;
  bool wait_given = false;
  bool background = false;
  bool keep_stdin = false;
};

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

std::int64_t TimeoutMs(const Wanted& wanted) {
  const std::int64_t none = std::chrono::seconds(kNoTimeout).count();
  if (wanted.background && !wanted.timeout) return 0;
  return std::min(wanted.timeout.value_or(none), none) * 1000;
}

absl::StatusOr<std::string> CwdOf(const Arguments& arguments) {
  ASSIGN_OR_RETURN(const std::optional<std::string> cwd, arguments.Text("cwd"));
  if (!cwd || cwd->empty() || *cwd == ".") return std::string();
  if (cwd->find('\0') != std::string::npos || cwd->size() >= kMaxPathBytes) {
    return absl::InvalidArgumentError("No folder has such a path: give another cwd.");
  }
  if (cwd->front() == '/') return *cwd;
  return StrCat("/workspace/", *cwd);
}

absl::StatusOr<std::string> StdinOf(const Arguments& arguments) {
  ASSIGN_OR_RETURN(std::optional<std::string> text, arguments.Text("stdin"));
  if (!text) return std::string();
  if (text->size() > kMaxStdinBytes) {
    return absl::InvalidArgumentError(
        StrCat("stdin has ", text->size(), " bytes, more than the ", kMaxStdinBytes,
               " that there may be: write it to a file below /workspace in several calls."));
  }
  return *std::move(text);
}

absl::StatusOr<Wanted> WantedOf(const Arguments& arguments) {
  Wanted wanted;
  ASSIGN_OR_RETURN(wanted.command, CommandOf(arguments));
  ASSIGN_OR_RETURN(wanted.timeout, TimeoutOf(arguments));
  ASSIGN_OR_RETURN(wanted.background, arguments.Flag("background"));
  ASSIGN_OR_RETURN(wanted.keep_stdin, arguments.Flag("keep_stdin"));
  ASSIGN_OR_RETURN(wanted.stdin_text, StdinOf(arguments));
  ASSIGN_OR_RETURN(wanted.cwd, CwdOf(arguments));
  ASSIGN_OR_RETURN(wanted.env, arguments.Texts("env"));
  ASSIGN_OR_RETURN(const std::optional<std::int64_t> waits, arguments.Integer("wait_seconds"));
  ASSIGN_OR_RETURN(Wait wait, WaitOf(arguments));
  wanted.wait = wait.span;
  wanted.wait_note = std::move(wait.note);
  wanted.wait_given = waits.has_value();
  if (wanted.background && !waits) wanted.wait = kBackgroundWait;
  return wanted;
}

v1::StartJobRequest RequestOf(const NamedJob& job, Wanted& wanted, bool apart) {
  v1::StartJobRequest request;
  *request.mutable_sandbox() = job.sandbox;
  request.set_job_id(job.id.bytes());
  request.set_command(std::move(wanted.command));
  request.set_stdin(std::move(wanted.stdin_text));
  request.set_keep_stdin(wanted.keep_stdin);
  request.set_cwd(std::move(wanted.cwd));
  for (auto& [name, value] : wanted.env) (*request.mutable_env())[name] = std::move(value);
  request.set_merge_streams(!apart);
  request.set_timeout_ms(TimeoutMs(wanted));
  return request;
}

}  // namespace

ToolDescription RunCommand::Describe(const v1::Info* host) const {
  ToolDescription description;
  description.title = "Run a command";
  description.text = StrCat(kWhat, NetworkWords(host));
  boost::json::object& properties = description.properties;
  properties["sandbox"] = Property("string", kSandboxDescription);
  properties["command"] =
      Property("string", "For bash: one command or a whole script, at most 1 MiB.");
  properties["timeout_seconds"] = IntegerProperty(1, TimeoutWords(host));
  properties["wait_seconds"] = IntegerProperty(
      0, StrCat("Seconds to wait for its end, ", kDefaultWait.count(), " if left out, at most ",
                kMaxWait.count(), ". Then it runs on and is handed back."));
  properties["stdin"] = Property("string", "Its whole input, ended after it.");
  properties["keep_stdin"] =
      Property("boolean", "Keep its input open, for send_input to write to.");
  properties["background"] =
      Property("boolean", "For servers and long work: no timeout, and handed back after a second.");
  properties["cwd"] = Property("string", "Folder to start in instead of /workspace.");
  boost::json::object env = Property("object", "Variables to add to its environment.");
  boost::json::object text;
  text["type"] = "string";
  env["additionalProperties"] = std::move(text);
  properties["env"] = std::move(env);
  description.required = {"sandbox", "command"};
  description.destructive = true;
  description.open_world = true;
  description.result_chars = ResultChars(services_.settings);
  return description;
}

boost::asio::awaitable<std::optional<absl::Time>> RunCommand::EndOf(const JobView& view,
                                                                    std::int64_t timeout_ms) {
  if (view.outcome || !view.started) co_return std::nullopt;
  const std::int64_t lowered = view.started->timeout_lowered_to_ms();
  std::int64_t span = lowered > 0 ? lowered : timeout_ms;
  if (span == 0) {
    const HostInfo host = co_await services_.host.Known();
    span = host == nullptr ? 0 : host->limits().background_ms();
  }
  if (span == 0) co_return std::nullopt;
  const std::int64_t started = view.started->job().started_ms();
  const absl::Time start = started > 0 ? absl::FromUnixMillis(started) : services_.clock.Now();
  co_return start + absl::Milliseconds(span);
}

// One that waits for input is the model's to answer.
bool RunCommand::IsForTask(const JobRun& run) {
  const JobView& view = run.view();
  return view.started && !view.outcome && !view.waits_for_input;
}

Async<ToolResult> RunCommand::Call(CallContext& context, Arguments arguments) {
  CO_RETURN_IF_ERROR(arguments.AllowOnly({"sandbox", "command", "timeout_seconds", "wait_seconds",
                                          "stdin", "keep_stdin", "background", "cwd", "env"}));
  CO_ASSIGN_OR_RETURN(v1::SandboxRef sandbox,
                      co_await RequireSandbox(services_.agent, context, arguments));
  CO_ASSIGN_OR_RETURN(Wanted wanted, WantedOf(arguments));

  const NamedJob named{.sandbox = std::move(sandbox), .id = JobId::Random(services_.random)};
  const auto job = std::make_shared<RunningJob>();
  job->sandbox = named.sandbox;
  job->job_id = named.id.bytes();
  // A modern client cancels by closing its stream.
  std::optional<RunningCalls::Entry> entry;
  if (context.era == Era::kLegacy) {
    entry.emplace(
        context.running_calls.Add(context.principal(), context.session(), context.request_id, job));
  }
  const bool as_task = DeclaresTasks(context.meta) && !wanted.background && !wanted.wait_given;
  if (as_task) wanted.wait = kTaskAfter;
  const EndpointSettings& settings = services_.settings;
  JobRun run(services_.agent, job, context.progress,
             {.max_output_bytes = apart_ ? settings.apart_output_bytes : settings.max_output_bytes,
              .from = {},
              .wait = wanted.wait,
              .end_on_disconnect = context.era == Era::kModern && settings.cancel_on_disconnect});
  v1::StartJobRequest request = RequestOf(named, wanted, apart_);
  const std::int64_t timeout_ms = request.timeout_ms();
  CO_RETURN_IF_ERROR(co_await run.Start(std::move(request)));
  if (as_task && IsForTask(run)) {
    ToolResult result;
    result.task = co_await MakeJobTask(services_, context, named, run.view());
    co_return result;
  }

  AnswerOptions options;
  options.ends = co_await EndOf(run.view(), timeout_ms);
  options.timeout_given = wanted.timeout.has_value();
  options.notes.push_back(std::move(wanted.wait_note));
  co_return co_await AnswerOf(services_, context, named, run, std::move(options));
}

}  // namespace sandkeep::mcp
