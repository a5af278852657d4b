// A SandboxManager whose every answer a test sets, for the tests of the agent's API: they are about
// what the API does, and what a manager does has tests of its own. Set the answers before calls
// come; the calls themselves may come from any thread.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/sandbox/sandbox_manager.h"
#include "common/pending.h"

namespace sandkeep {

// A promise as a coroutine.
template <typename T>
Async<T> Answered(absl::StatusOr<T> value) {
  co_return value;
}

// Hangs until it is cancelled, and then counts that.
template <typename T>
Async<T> HangUntilCancelled(std::shared_ptr<Pending<bool>> cancelled) {
  const auto never = std::make_shared<Pending<bool>>();
  std::function<void()> on_cancel = [cancelled] { cancelled->Deliver(true); };
  auto waiting = never->Take(false, std::move(on_cancel));
  co_await std::move(waiting);
  co_return absl::CancelledError("cancelled");
}

// A watcher whose events come from a function; nullopt: none yet, hang until cancelled.
class ScriptedWatcher : public JobWatcher {
 public:
  using Source = std::function<std::optional<absl::StatusOr<JobEvent>>()>;

  ScriptedWatcher(Source source, std::function<void()> gone)
      : source_(std::move(source)), gone_(std::move(gone)) {}
  ~ScriptedWatcher() override {
    if (gone_) gone_();
  }

  Async<JobEvent> Next() override {
    if (auto event = source_()) co_return *std::move(event);
    auto waiting = never_->Take(false);
    co_await std::move(waiting);
    co_return absl::CancelledError("cancelled");
  }

 private:
  const Source source_;
  const std::function<void()> gone_;
  const std::shared_ptr<Pending<bool>> never_ = std::make_shared<Pending<bool>>();
};

inline JobEvent OutputEvent(std::int64_t offset, std::string data,
                            OutputStream stream = OutputStream::kMerged) {
  return {.kind = JobEvent::Kind::kOutput,
          .output = {.offset = offset, .stream = stream, .data = std::move(data)},
          .gap = {},
          .outcome = {}};
}
inline JobEvent GapEvent(std::int64_t from, std::int64_t to,
                         OutputStream stream = OutputStream::kMerged) {
  return {.kind = JobEvent::Kind::kGap,
          .output = {},
          .gap = {.from = from, .to = to, .stream = stream},
          .outcome = {}};
}
inline JobEvent OutcomeEvent(Outcome outcome) {
  return {.kind = JobEvent::Kind::kOutcome, .output = {}, .gap = {}, .outcome = std::move(outcome)};
}
inline JobEvent EndEvent() {
  return {.kind = JobEvent::Kind::kEndOfWhatThereIs, .output = {}, .gap = {}, .outcome = {}};
}

// These events, then OutOfRange as JobWatcher promises.
inline std::unique_ptr<JobWatcher> WatcherOf(std::vector<JobEvent> events) {
  const auto left = std::make_shared<std::vector<JobEvent>>(std::move(events));
  auto at = std::make_shared<std::size_t>(0);
  auto source = [left, at]() -> std::optional<absl::StatusOr<JobEvent>> {
    if (*at == left->size()) return absl::OutOfRangeError("over");
    return (*left)[(*at)++];
  };
  return std::make_unique<ScriptedWatcher>(std::move(source), nullptr);
}

inline SandboxSnapshot SomeSandbox() {
  return {.key = *SandboxKey::Parse("amber-otter-aaaaaaaaaaaaaaaa"),
          .label = *Label::Parse("amber-otter"),
          .principal = *PrincipalId::Parse("key-0123"),
          .generation = *Generation::FromBytes("gggggggggggggggg"),
          .state = SandboxState::kRunning,
          .created = absl::FromUnixMillis(1000),
          .last_used = absl::FromUnixMillis(2000),
          .running_jobs = 1,
          .hostname = "amber-otter"};
}

inline JobSnapshot SomeJob() {
  return {.id = *JobId::FromBytes("jjjjjjjjjjjjjjjj"),
          .state = JobState::kRunning,
          .command_head = "true",
          .started = absl::FromUnixMillis(3000),
          .ended = absl::InfinitePast(),
          .output_bytes = 0,
          .outcome = std::nullopt,
          .stdin_open = false,
          .left_behind = 0};
}

inline StartedJob SomeStart(std::unique_ptr<JobWatcher> watcher) {
  return {.sandbox = SomeSandbox(),
          .arrival = Arrival::kNew,
          .last_used_before = absl::InfinitePast(),
          .job = SomeJob(),
          .timeout_lowered_to = std::nullopt,
          .notes = {"a note"},
          .watcher = std::move(watcher)};
}

class ScriptedManager : public SandboxManager {
 public:
  std::function<Async<StartedJob>(PrincipalId, std::string, JobSpec)> start_job;
  std::function<Async<WatchedJob>(SandboxRef, std::optional<JobId>, std::int64_t, bool)> watch_job;
  std::function<absl::StatusOr<std::optional<SettledJob>>(const SandboxRef&, const JobId&)>
      find_settled_job;
  std::function<Async<std::vector<JobSnapshot>>(SandboxRef, int)> list_jobs;
  std::function<Async<std::int64_t>(SandboxRef, JobId, std::string, bool)> send_input;
  std::function<Async<JobSnapshot>(SandboxRef, JobId, int, absl::Duration)> signal_job;
  std::function<Async<std::vector<SandboxSnapshot>>(std::optional<PrincipalId>)> list;
  std::function<absl::StatusOr<SandboxSnapshot>(const SandboxRef&)> get;
  std::function<Async<RemovedSandbox>(SandboxRef, bool)> remove;
  std::function<Async<SandboxSnapshot>(SandboxRef)> freeze;
  std::function<Async<SandboxSnapshot>(SandboxRef)> thaw;
  std::function<Async<SandboxFile>(SandboxRef, RelPath)> stat_file;
  std::function<Async<SandboxFile>(SandboxRef, RelPath)> open_file;
  std::function<Async<FileListing>(SandboxRef, FileQuery)> list_files;
  std::function<Async<SandboxNewFile>(SandboxRef, RelPath, NewFileSpec)> create_file;
  std::function<Async<SandboxTakenFile>(SandboxNewFile, TakeTerms)> commit_file;
  std::function<Async<std::int64_t>(SandboxRef, RelPath, bool)> delete_file;
  std::function<Async<ManagerInfo>()> info;
  std::function<Async<CollectedGarbage>(bool)> collect_garbage;

  // Calls of any kind that came through.
  mutable std::atomic<int> calls = 0;

  Async<void> Recover() override { co_return absl::OkStatus(); }
  Async<StartedJob> StartJob(PrincipalId principal, std::string label, JobSpec spec) override {
    return Call(start_job, std::move(principal), std::move(label), std::move(spec));
  }
  Async<WatchedJob> WatchJob(SandboxRef ref, std::optional<JobId> id, std::int64_t from_offset,
                             bool follow) override {
    return Call(watch_job, std::move(ref), std::move(id), from_offset, follow);
  }
  absl::StatusOr<std::optional<SettledJob>> FindSettledJob(const SandboxRef& ref,
                                                           const JobId& id) const override {
    return find_settled_job ? find_settled_job(ref, id) : std::nullopt;
  }
  Async<std::vector<JobSnapshot>> ListJobs(SandboxRef ref, int limit) override {
    return Call(list_jobs, std::move(ref), limit);
  }
  Async<std::int64_t> SendInput(SandboxRef ref, JobId id, std::string data, bool end) override {
    return Call(send_input, std::move(ref), std::move(id), std::move(data), end);
  }
  Async<JobSnapshot> SignalJob(SandboxRef ref, JobId id, int signal,
                               absl::Duration grace) override {
    return Call(signal_job, std::move(ref), std::move(id), signal, grace);
  }
  Async<std::vector<SandboxSnapshot>> List(std::optional<PrincipalId> principal) override {
    return Call(list, std::move(principal));
  }
  absl::StatusOr<SandboxSnapshot> Get(const SandboxRef& ref) const override {
    ++calls;
    return get ? get(ref) : absl::UnimplementedError("not scripted");
  }
  Async<RemovedSandbox> Remove(SandboxRef ref, bool remove_volume) override {
    return Call(remove, std::move(ref), remove_volume);
  }
  Async<SandboxSnapshot> Freeze(SandboxRef ref) override { return Call(freeze, std::move(ref)); }
  Async<SandboxSnapshot> Thaw(SandboxRef ref) override { return Call(thaw, std::move(ref)); }
  Async<void> StopAll() override { co_return absl::OkStatus(); }
  Async<SandboxFile> StatFile(SandboxRef ref, RelPath path) override {
    return Call(stat_file, std::move(ref), std::move(path));
  }
  Async<SandboxFile> OpenFile(SandboxRef ref, RelPath path) override {
    return Call(open_file, std::move(ref), std::move(path));
  }
  Async<FileListing> ListFiles(SandboxRef ref, FileQuery query) override {
    return Call(list_files, std::move(ref), std::move(query));
  }
  Async<SandboxNewFile> CreateFile(SandboxRef ref, RelPath path, NewFileSpec spec) override {
    return Call(create_file, std::move(ref), std::move(path), std::move(spec));
  }
  Async<SandboxTakenFile> CommitFile(SandboxNewFile file, TakeTerms terms) override {
    return Call(commit_file, std::move(file), std::move(terms));
  }
  Async<std::int64_t> DeleteFile(SandboxRef ref, RelPath path, bool recursive) override {
    return Call(delete_file, std::move(ref), std::move(path), recursive);
  }
  Async<ManagerInfo> Info() override { return Call(info); }
  Async<CollectedGarbage> CollectGarbage(bool dry_run) override {
    return Call(collect_garbage, dry_run);
  }

 private:
  template <typename Result, typename... Args>
  Result Call(const std::function<Result(Args...)>& answer, Args... args) {
    ++calls;
    if (answer) return answer(std::move(args)...);
    return Unscripted<Result>();
  }
  template <typename Result>
  static Result Unscripted() {
    co_return absl::InternalError("ScriptedManager: nothing scripted");
  }
};

}  // namespace sandkeep
