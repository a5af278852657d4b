#include "gateway/mcp/tools/job_text.h"

#include <string.h>

#include <optional>
#include <string_view>

#include "common/strings.h"
#include "common/utf8.h"
#include "gateway/mcp/tools/words.h"

namespace sandkeep::mcp {
namespace {

namespace v1 = agent::v1;

// Below it nobody wonders whether the sandbox is the one they mean.
constexpr absl::Duration kLastUsedShown = absl::Minutes(30);
// A note is one line.
constexpr std::size_t kMaxNoteBytes = 1000;

constexpr int kTimeoutExit = 124;
constexpr int kSignalExit = 128;

std::string_view ArrivalWord(v1::JobStarted::Arrival arrival) {
  switch (arrival) {
    case v1::JobStarted::NEW:
      return "new";
    case v1::JobStarted::WOKEN:
      return "woken";
    case v1::JobStarted::RESTARTED:
      return "restarted";
    case v1::JobStarted::REBUILT:
      return "rebuilt";
    default:
      return {};
  }
}

// What a shell would report; nullopt where there is nothing to report.
std::optional<int> ExitCode(const v1::Outcome& outcome) {
  switch (outcome.ending()) {
    case v1::Outcome::SIGNALLED:
      return kSignalExit + outcome.code();
    case v1::Outcome::TIMED_OUT:
      return kTimeoutExit;
    case v1::Outcome::EXITED:
    case v1::Outcome::PID_LIMIT:
    case v1::Outcome::WAITING_FOR_INPUT:
      return outcome.code();
    case v1::Outcome::CANCELLED:
    case v1::Outcome::OUT_OF_MEMORY:
    case v1::Outcome::DISK_FULL:
      if (outcome.code() == 0) return std::nullopt;
      return outcome.code();
    default:
      return std::nullopt;
  }
}

std::string SignalName(int signal) {
  const char* name = ::sigabbrev_np(signal);
  return name == nullptr ? StrCat(signal) : std::string(name);
}

std::string CauseWords(const v1::Outcome& outcome) {
  switch (outcome.ending()) {
    case v1::Outcome::SIGNALLED:
      return StrCat("signal ", SignalName(outcome.code()));
    case v1::Outcome::TIMED_OUT:
      return "timeout";
    case v1::Outcome::CANCELLED:
      return "cancelled";
    case v1::Outcome::OUT_OF_MEMORY:
      return "oom";
    case v1::Outcome::PID_LIMIT:
      return "pids";
    case v1::Outcome::DISK_FULL:
      return "disk";
    case v1::Outcome::WAITING_FOR_INPUT:
      return "input";
    case v1::Outcome::SANDBOX_GONE:
      return "removed";
    case v1::Outcome::HOST_RESTARTED:
      return "host";
    case v1::Outcome::AGENT_FAULT:
      return "agent";
    default:
      return {};
  }
}

// Where the agent left the remedy to us.
std::string_view RemedyFor(v1::Outcome::Ending ending) {
  switch (ending) {
    case v1::Outcome::TIMED_OUT:
      return "ended at its timeout, with every process it had started: give a longer "
             "timeout_seconds, or do less in one command";
    case v1::Outcome::OUT_OF_MEMORY:
      return "ended for using more memory than the sandbox has: work on less at once";
    case v1::Outcome::PID_LIMIT:
      return "it could not start more processes: run fewer at once";
    case v1::Outcome::DISK_FULL:
      return "the disk is full: delete what isn't needed, then run it again";
    case v1::Outcome::WAITING_FOR_INPUT:
      return "it waited for input that nobody can type: give the answers as options, or pipe them "
             "in";
    case v1::Outcome::SANDBOX_GONE:
      return "the sandbox was removed while it ran: run it again, files below /workspace are kept";
    case v1::Outcome::HOST_RESTARTED:
      return "the host restarted while it ran: look at what it left, then run it again";
    case v1::Outcome::AGENT_FAULT:
      return "the service itself failed while it ran: look at what it left, then run it again";
    default:
      return {};
  }
}

void AppendField(std::string* line, std::string_view words) {
  if (!words.empty()) StrAppend(line, " [", words, "]");
}

void AppendNote(std::string* text, std::string_view note) {
  if (!note.empty()) StrAppend(text, "\nnote: ", OneLine(note, kMaxNoteBytes));
}

std::string LastUsedWords(const v1::JobStarted& started, absl::Time now) {
  if (started.last_used_ms() == 0) return {};
  const absl::Duration ago = now - absl::FromUnixMillis(started.last_used_ms());
  if (ago <= kLastUsedShown) return {};
  return StrCat("last used ", InWords(absl::ToChronoSeconds(ago)), " ago");
}

std::string FactsLine(const JobView& view, absl::Time now, bool cut, const std::string& job_id) {
  const v1::Outcome& outcome = view.outcome;
  std::string line = StrCat("[sandbox ", ToValidUtf8(view.started.sandbox().label()), "]");
  AppendField(&line, ArrivalWord(view.started.arrival()));
  AppendField(&line, LastUsedWords(view.started, now));
  if (const auto code = ExitCode(outcome)) AppendField(&line, StrCat("exit ", *code));
  const std::string cause = CauseWords(outcome);
  if (!cause.empty()) AppendField(&line, StrCat("cause ", cause));
  if (cut || outcome.left_behind() > 0) AppendField(&line, StrCat("job ", job_id));
  return line;
}

void AppendNotes(std::string* text, const JobView& view, const JobTextOptions& options) {
  const v1::Outcome& outcome = view.outcome;
  AppendNote(text, outcome.remedy().empty() ? RemedyFor(outcome.ending())
                                            : std::string_view(outcome.remedy()));
  if (view.started.arrival() == v1::JobStarted::RESTARTED) {
    AppendNote(text,
               "the sandbox had been stopped: files and packages are kept, its processes "
               "have ended");
  }
  if (view.started.arrival() == v1::JobStarted::REBUILT) {
    AppendNote(text,
               "the sandbox had to be made anew: files below /workspace are kept, installed "
               "packages and everything else are gone");
  }
  if (options.timeout_given && view.started.timeout_lowered_to_ms() > 0) {
    AppendNote(text,
               StrCat("the timeout was lowered to ", view.started.timeout_lowered_to_ms() / 1000,
                      " seconds, the longest there is here"));
  }
  for (const std::string& note : view.started.notes()) AppendNote(text, note);
  if (outcome.left_behind() > 0) {
    AppendNote(text, StrCat(outcome.left_behind(), outcome.left_behind() == 1
                                                       ? " process that it started runs on"
                                                       : " processes that it started run on"));
  }
}

}  // namespace

std::string JobText(const JobView& view, absl::Time now, const JobTextOptions& options) {
  const OutputWindow::Text output = view.output.Render();
  std::string text = FactsLine(view, now, output.cut, options.job_id);
  AppendNotes(&text, view, options);
  if (!output.text.empty()) StrAppend(&text, "\n", output.text);
  return text;
}

}  // namespace sandkeep::mcp
