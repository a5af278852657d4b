// What the manager looks after by the clock: whether this host can run sandboxes, records of jobs
// that are past their time, files of removed sandboxes, and output that takes more than its share
// of the disk.

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "agent/sandbox/manager.h"
#include "agent/sandbox/output_shares.h"

namespace sandkeep {
namespace {

// A command prints, or somebody was still reading when the view was made.
bool MayHaveChanged(const SandboxView& view) {
  return view.snapshot.busy ||
         (view.output_bytes > 0 && view.oldest_output == absl::InfiniteFuture());
}

}  // namespace

boost::asio::awaitable<void> Manager::Sweep() {
  boost::asio::steady_timer timer(strand_);
  for (;;) {
    co_await SayProblems();
    timer.expires_after(absl::ToChronoNanoseconds(limits_.sweep_interval));
    co_await timer.async_wait(boost::asio::as_tuple(boost::asio::use_awaitable));
    co_await ForgetOldJobs();
    co_await RemoveLeftovers();
    EmptySoon();
  }
}

// Whoever asks why nothing starts, looks into the log.
boost::asio::awaitable<void> Manager::SayProblems() {
  const absl::StatusOr<EngineInfo> engine = co_await EngineHere();
  if (!engine.ok()) {
    Log(Severity::kError, "host.not_ready", {{"why", engine.status()}});
    co_return;
  }
  for (const std::string& problem : engine->problems) {
    Log(Severity::kError, "host.not_ready", {{"why", problem}});
  }
}

boost::asio::awaitable<void> Manager::ForgetOldJobs() {
  const absl::Time ended_before = context_.clock.Now() - limits_.job_keep;
  for (const std::shared_ptr<Sandbox>& sandbox : registry_.All()) {
    const absl::Status forgotten = co_await sandbox->ForgetJobs(ended_before);
    if (forgotten.ok()) continue;
    Log(Severity::kWarning, "sweep.failed",
        {{"sandbox", sandbox->key().text()}, {"why", forgotten}});
  }
}

boost::asio::awaitable<void> Manager::EmptyRemoved() {
  ++emptyings_asked_;
  if (std::exchange(emptying_, true)) co_return;
  absl::Status emptied;
  // Asked for meanwhile: once more, for what has come since it looked. After a failure the next
  // sweep does.
  for (std::uint64_t asked = 0; emptied.ok() && asked != emptyings_asked_;) {
    asked = emptyings_asked_;
    emptied = co_await context_.runtime.EmptyRemoved();
  }
  emptying_ = false;
  if (!emptied.ok()) Log(Severity::kWarning, "sweep.removed_files_left", {{"why", emptied}});
}

boost::asio::awaitable<void> Manager::TrimOutput() {
  boost::asio::steady_timer timer(strand_);
  // The registry's changes at a look that found room, and nothing that might grow unseen.
  std::optional<std::uint64_t> at_rest;
  for (;;) {
    timer.expires_after(absl::ToChronoNanoseconds(limits_.output_interval));
    co_await timer.async_wait(boost::asio::as_tuple(boost::asio::use_awaitable));
    const std::uint64_t changes = registry_.changes();
    if (at_rest == changes) continue;
    const std::int64_t kept = co_await LookAtOutput();
    const bool too_much = kept > limits_.output_bytes;
    at_rest = too_much ? std::nullopt : std::optional(changes);
    if (too_much) co_await MakeRoomForOutput();
  }
}

// Who prints, or did at the last look, is looked at again, which is a change. What all keep.
boost::asio::awaitable<std::int64_t> Manager::LookAtOutput() {
  std::int64_t kept = 0;
  const auto bytes = [](const SandboxView& view) { return view.output_bytes; };
  for (const std::shared_ptr<Sandbox>& sandbox : registry_.All()) {
    const bool changed = sandbox->Peek(MayHaveChanged);
    if (changed) (co_await sandbox->LookAgain()).IgnoreError();
    kept += sandbox->Peek(bytes);
  }
  co_return kept;
}

boost::asio::awaitable<void> Manager::MakeRoomForOutput() {
  while (const std::shared_ptr<Sandbox> sandbox =
             NextToLoseOutput(registry_.All(), limits_.output_bytes)) {
    const absl::Status forgotten = co_await sandbox->ForgetOldestOutput();
    if (forgotten.ok()) continue;
    Log(Severity::kWarning, "trim.failed",
        {{"sandbox", sandbox->key().text()}, {"why", forgotten}});
    break;
  }
  while (const std::shared_ptr<Sandbox> sandbox =
             NextToNarrow(registry_.All(), limits_.output_bytes)) {
    const absl::StatusOr<bool> narrowed = co_await sandbox->NarrowOutput();
    if (!narrowed.ok() || !*narrowed) break;
  }
}

}  // namespace sandkeep
