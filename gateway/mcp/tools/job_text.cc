#include "gateway/mcp/tools/job_text.h"

#include <string.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "common/limits.h"
#include "common/strings.h"
#include "common/utf8.h"
#include "gateway/mcp/tools/known_remedy.h"
#include "gateway/mcp/tools/profile_words.h"
#include "gateway/mcp/tools/words.h"

namespace sandkeep::mcp {
namespace {

namespace v1 = agent::v1;

// Below it nobody wonders whether the sandbox is the one they mean.
constexpr absl::Duration kLastUsedShown = absl::Minutes(30);

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

std::string LastUsedWords(const v1::JobStarted& started, absl::Time now) {
  if (started.last_used_ms() == 0) return {};
  const absl::Duration ago = now - absl::FromUnixMillis(started.last_used_ms());
  if (ago <= kLastUsedShown) return {};
  return StrCat("last used ", InWords(absl::ToChronoSeconds(ago)), " ago");
}

// nullptr: nobody knows any more.
const v1::JobStarted* StartOf(const JobView& view, const JobTextOptions& options) {
  return view.started ? &*view.started : options.started;
}

std::string FactsLine(const JobView& view, absl::Time now, bool names_job,
                      const JobTextOptions& options) {
  const v1::JobStarted* started = StartOf(view, options);
  const std::string& label = started != nullptr ? started->sandbox().label() : options.label;
  std::string line = StrCat("[sandbox ", ToValidUtf8(label), "]");
  if (started != nullptr) {
    AppendField(&line, ArrivalWord(started->arrival()));
    AppendField(&line, LastUsedWords(*started, now));
  }
  const std::vector<std::string> running = {"running"};
  for (const std::string& field : view.outcome ? EndFields(*view.outcome) : running) {
    AppendField(&line, field);
  }
  if (!view.outcome && view.waits_for_input) AppendField(&line, "cause input");
  if (!view.outcome && !view.paused.empty()) AppendField(&line, "cause disk");
  if (names_job) AppendField(&line, StrCat("job ", options.job_id));
  if (view.outcome) return line;
  AppendField(&line, StrCat("next offset ", view.output.resume()));
  if (options.ends) {
    const auto left = absl::ToInt64Seconds(absl::Ceil(*options.ends - now, absl::Seconds(1)));
    AppendField(&line, StrCat("ends in ", std::max<std::int64_t>(left, 0), " s"));
  }
  return line;
}

void AppendStartNotes(std::string* text, const v1::JobStarted& started,
                      const JobTextOptions& options) {
  if (started.arrival() == v1::JobStarted::RESTARTED) {
    AppendNote(text,
               "the sandbox had been stopped: files and packages are kept, its processes "
               "have ended");
  }
  if (started.arrival() == v1::JobStarted::REBUILT) {
    AppendNote(text,
               "the sandbox had to be made anew: files below /workspace are kept, installed "
               "packages and everything else are gone");
  }
  if (options.timeout_given && started.timeout_lowered_to_ms() > 0) {
    AppendNote(text, StrCat("the timeout was lowered to ", started.timeout_lowered_to_ms() / 1000,
                            " seconds, the longest there is here"));
  }
  for (const std::string& note : started.notes()) AppendNote(text, note);
  // This one is among them.
  const int others = started.sandbox().running_jobs() - 1;
  if (others > 0) {
    AppendNote(text, StrCat(others, others == 1 ? " other command runs" : " other commands run",
                            " in this sandbox: sandbox_info lists them"));
  }
}

void AppendEndNotes(std::string* text, const JobView& view) {
  const v1::Outcome& outcome = *view.outcome;
  AppendNote(text, outcome.remedy().empty() ? RemedyFor(outcome.ending())
                                            : std::string_view(outcome.remedy()));
  const bool failed = outcome.ending() == v1::Outcome::EXITED && outcome.code() != 0;
  const OutputWindow& telling = view.errors ? *view.errors : view.output;
  if (failed) AppendNote(text, KnownRemedy(telling.LastText(kSearchedOutputBytes)));
  if (outcome.left_behind() > 0) {
    AppendNote(text, StrCat(outcome.left_behind(),
                            outcome.left_behind() == 1 ? " process that it started runs on"
                                                       : " processes that it started run on",
                            ": stop_command with this job ends what is left"));
  }
}

void AppendStream(std::string* text, std::string_view name, const OutputWindow::Text& stream) {
  if (stream.text.empty()) return;
  StrAppend(text, "\n", name, ":\n", stream.text);
  if (text->back() == '\n') text->pop_back();
}

}  // namespace

std::vector<std::string> EndFields(const v1::Outcome& outcome) {
  std::vector<std::string> fields;
  if (const std::optional<int> code = ExitCode(outcome)) fields.push_back(StrCat("exit ", *code));
  const std::string cause = CauseWords(outcome);
  if (!cause.empty()) fields.push_back(StrCat("cause ", cause));
  return fields;
}

std::vector<std::string> EndFields(const v1::Job& job) {
  if (job.state() != v1::Job::ENDED) return {"running"};
  return EndFields(job.outcome());
}

void AppendField(std::string* line, std::string_view words) {
  if (!words.empty()) StrAppend(line, " [", words, "]");
}

void AppendNote(std::string* text, std::string_view note) {
  if (!note.empty()) StrAppend(text, "\nnote: ", OneLine(note, kMaxNoteBytes));
}

JobText MakeJobText(const JobView& view, absl::Time now, const JobTextOptions& options) {
  const WayToTheRest way{.job = options.job_id, .link = options.link};
  const WayToTheRest errors_way{.job = options.job_id, .link = options.errors_link, .errors = true};
  const OutputWindow::Text output = view.output.Render(way);
  const OutputWindow::Text errors =
      view.errors ? view.errors->Render(errors_way) : OutputWindow::Text();
  const bool left = view.outcome && view.outcome->left_behind() > 0;
  JobText made;
  made.names_job = !view.outcome || output.cut || errors.cut || left;
  made.text = FactsLine(view, now, made.names_job, options);
  if (view.outcome) AppendEndNotes(&made.text, view);
  if (const v1::JobStarted* started = StartOf(view, options)) {
    AppendStartNotes(&made.text, *started, options);
  }
  if (!view.outcome && view.waits_for_input) {
    AppendNote(&made.text, "it waits for input: give it with send_input, or stop it");
  }
  if (!view.outcome) AppendNote(&made.text, view.paused);
  for (const std::string& note : view.notes) AppendNote(&made.text, note);
  for (const std::string& note : options.notes) AppendNote(&made.text, note);
  if (options.apart) made.text = InOneSandbox(made.text);
  if (!view.apart && !options.apart) {
    if (!output.text.empty()) StrAppend(&made.text, "\n", output.text);
    return made;
  }
  AppendStream(&made.text, "stdout", output);
  AppendStream(&made.text, "stderr", errors);
  if (!view.outcome) return made;
  if (const std::optional<int> code = ExitCode(*view.outcome)) {
    StrAppend(&made.text, "\nexit code: ", *code);
  }
  return made;
}

}  // namespace sandkeep::mcp
