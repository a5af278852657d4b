#include "gateway/mcp/tools/sandbox_info.h"

#include <optional>
#include <utility>

#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "common/limits.h"
#include "common/status_macros.h"
#include "common/strings.h"
#include "common/utf8.h"
#include "gateway/mcp/tools/job_text.h"
#include "gateway/mcp/tools/profile_words.h"
#include "gateway/mcp/tools/sandbox_argument.h"
#include "gateway/mcp/tools/shown_headers.h"
#include "gateway/mcp/tools/words.h"

namespace sandkeep::mcp {
namespace {

namespace v1 = agent::v1;

constexpr std::string_view kWhat =
    "What you have here: your sandboxes and when each was last used, the limits of a sandbox, how "
    "long what is kept, what this host can't do, versions, and how this request arrived. With a "
    "sandbox: its last commands and their jobs, to find one again whose answer was lost.";

std::string_view StateWords(v1::Sandbox::State state) {
  switch (state) {
    case v1::Sandbox::STARTING:
      return "starting";
    case v1::Sandbox::RUNNING:
      return "running";
    case v1::Sandbox::FROZEN:
      return "frozen until used, processes and packages wait";
    case v1::Sandbox::STOPPED:
      return "stopped, packages kept";
    case v1::Sandbox::BROKEN:
      return "broken, made anew when used";
    default:
      return "files only";
  }
}

std::string SandboxLine(const v1::Sandbox& sandbox, absl::Time now) {
  std::string line = StrCat("- ", ToValidUtf8(sandbox.label()), ": ", StateWords(sandbox.state()));
  if (sandbox.running_jobs() > 0) {
    StrAppend(&line, ", ", sandbox.running_jobs(),
              sandbox.running_jobs() == 1 ? " command running" : " commands running");
  }
  if (sandbox.last_used_ms() > 0) {
    const absl::Duration ago = now - absl::FromUnixMillis(sandbox.last_used_ms());
    StrAppend(&line, ", last used ", InWords(absl::ToChronoSeconds(ago)), " ago");
  }
  if (sandbox.workspace_bytes() > 0) {
    StrAppend(&line, ", ", SizeInWords(sandbox.workspace_bytes()), " in /workspace");
  }
  StrAppend(&line, ", key ", sandbox.key(), "\n");
  return line;
}

std::string SandboxLines(const v1::ListSandboxesResponse& list, absl::Time now) {
  if (list.sandboxes().empty()) return "You have no sandbox yet.\n";
  std::string text =
      StrCat("Your sandboxes, ", list.sandboxes_size(), " of ",
             std::max(list.total(), list.sandboxes_size()), ", the last used first:\n");
  for (const v1::Sandbox& sandbox : list.sandboxes()) text += SandboxLine(sandbox, now);
  return text;
}

std::string JobLine(const v1::Job& job, absl::Time now) {
  const absl::StatusOr<JobId> id = JobId::FromBytes(job.job_id());
  std::string line = StrCat("- job ", id.ok() ? id->hex() : std::string("unknown"), ":");
  for (const std::string& field : EndFields(job)) StrAppend(&line, " ", field, ",");
  if (job.left_behind() > 0) StrAppend(&line, " left ", job.left_behind(), " running,");
  if (!job.paused().empty()) line += " paused for the disk,";
  const absl::Duration ago = now - absl::FromUnixMillis(job.started_ms());
  StrAppend(&line, " started ", InWords(absl::ToChronoSeconds(ago)), " ago, printed ",
            SizeInWords(job.output_bytes()), ": ",
            OneLine(job.command_head(), kCommandHeadChars * 4), "\n");
  return line;
}

// So that a call whose answer was lost finds its job again.
std::string JobLines(const v1::ListJobsResponse& list, absl::Time now) {
  if (list.jobs().empty()) return "No command of it is remembered.\n";
  std::string text = "Its last commands, the newest first:\n";
  for (const v1::Job& job : list.jobs()) text += JobLine(job, now);
  return text;
}

std::string Span(std::int64_t ms) { return InWords(std::chrono::seconds(ms / 1000)); }

std::string NetworkWords(const std::string& network) {
  if (network == "internet") return "the internet, no private network";
  if (network == "full") return "the internet and the host's local network";
  if (network == "none") return "none";
  return network;
}

// What becomes of a sandbox that nobody uses.
std::string IdleLine(const v1::Limits& limits) {
  if (limits.idle_ms() == 0) {
    return "A sandbox stays as it is until another one needs its place: then its packages and "
           "processes go; files below /workspace are kept in each case.\n";
  }
  return StrCat(
      "An idle sandbox is frozen after ", Span(limits.idle_ms()), ", stopped after ",
      Span(limits.stop_after_ms()), " more, and then ",
      limits.keep_ms() > 0 ? StrCat("removed after ", Span(limits.keep_ms())) : std::string("kept"),
      "; files below /workspace are kept in each case.\n");
}

std::string LimitLines(const v1::Info& info, const EndpointSettings& settings) {
  const v1::Limits& limits = info.limits();
  std::string text = absl::StrFormat(
      "Limits of a sandbox: %s of memory, %.3g CPUs, %d processes; network: %s.\n",
      SizeInWords(limits.memory_bytes()), static_cast<double>(limits.cpus_milli()) / 1000,
      limits.pids(), NetworkWords(info.network()));
  StrAppend(&text, "A command ends after ", limits.max_timeout_ms() / 1000,
            " s at most; a result shows ", SizeInWords(settings.max_output_bytes),
            " of its output.\n");
  text += IdleLine(limits);
  if (limits.file_ttl_ms() > 0) {
    StrAppend(&text, "What lies in /workspace and hasn't changed for ", Span(limits.file_ttl_ms()),
              " is deleted.\n");
  }
  if (limits.volume_ttl_ms() > 0) {
    StrAppend(&text, "A sandbox that nobody has used for ", Span(limits.volume_ttl_ms()),
              ", and in which no file has changed since, goes with its files.\n");
  }
  StrAppend(&text, "Running now, of all users: ", info.capacity().sandboxes_running(), " of ",
            info.capacity().sandboxes_max(), " sandboxes.\n");
  return text;
}

std::string HostLines(const v1::Info& info) {
  std::string text = StrCat("Versions: gateway ", SANDKEEP_VERSION, ", agent ", info.version());
  if (!info.engine().empty()) StrAppend(&text, ", ", info.engine());
  text += "\n";
  for (const std::string& problem : info.problems()) {
    StrAppend(&text, "No sandbox can start now: ", problem, "\n");
  }
  for (const std::string& warning : info.warnings()) StrAppend(&text, "Mind: ", warning, "\n");
  for (const v1::Capability& capability : info.capabilities()) {
    if (capability.available()) continue;
    StrAppend(&text, "Not on this host: ", capability.name(),
              capability.detail().empty() ? "" : ": ", capability.detail(), "\n");
  }
  return text;
}

}  // namespace

ToolDescription SandboxInfo::Describe(const v1::Info* /*host*/) const {
  ToolDescription description;
  description.title = "Look at sandboxes and limits";
  description.text = std::string(kWhat);
  description.properties["sandbox"] =
      Property("string", "Label of one of your sandboxes, to see only that one.");
  description.read_only = true;
  description.idempotent = true;
  return description;
}

Async<ToolResult> SandboxInfo::Call(CallContext& context, Arguments arguments) {
  CO_RETURN_IF_ERROR(arguments.AllowOnly({"sandbox"}));
  CO_ASSIGN_OR_RETURN(const std::optional<v1::SandboxRef> sandbox,
                      co_await OptionalSandbox(agent_, context, arguments));
  CO_ASSIGN_OR_RETURN(const v1::Info info, co_await host_.Fresh());

  std::string text;
  if (sandbox) {
    v1::GetSandboxRequest request;
    *request.mutable_sandbox() = *sandbox;
    absl::StatusOr<v1::Sandbox> found = co_await agent_.GetSandbox(std::move(request));
    if (absl::IsNotFound(found.status()) && !context.persistent) {
      co_return absl::NotFoundError(
          "You have no sandbox of this label: run a command in it to make it, or leave sandbox out "
          "to see those that you have.");
    }
    if (absl::IsNotFound(found.status())) {
      text = "Nothing has run in it yet.\n";
    } else if (!found.ok()) {
      co_return found.status();
    } else {
      text = StrCat("[sandbox ", ToValidUtf8(found->label()), "]\n",
                    InProfile(context, SandboxLine(*found, clock_.Now())));
      v1::ListJobsRequest jobs;
      *jobs.mutable_sandbox() = *sandbox;
      jobs.set_limit(kMaxShownJobs);
      CO_ASSIGN_OR_RETURN(const v1::ListJobsResponse list,
                          co_await agent_.ListJobs(std::move(jobs)));
      text += JobLines(list, clock_.Now());
    }
  } else {
    v1::ListSandboxesRequest request;
    request.set_principal(context.principal().text());
    request.set_limit(kMaxShownSandboxes);
    CO_ASSIGN_OR_RETURN(const v1::ListSandboxesResponse list,
                        co_await agent_.ListSandboxes(std::move(request)));
    text = SandboxLines(list, clock_.Now());
  }
  StrAppend(&text, InProfile(context, LimitLines(info, settings_)), HostLines(info),
            "Headers of this request:\n", ShownHeaders(context.request.headers));
  co_return ToolResult::Text(ToValidUtf8(text));
}

}  // namespace sandkeep::mcp
