#include "agent/sandbox/sandbox.h"

#include <boost/asio/strand.hpp>
#include <utility>

#include "common/limits.h"
#include "common/status_macros.h"
#include "common/strings.h"

namespace sandkeep {

std::string SpoolFolder(const std::string& state_dir, const SandboxKey& key) {
  return StrCat(state_dir, "/spools/", key.text());
}

// A StartJob in flight: as long as it lives, the sandbox is busy. On the strand.
class Sandbox::CallGuard {
 public:
  explicit CallGuard(Sandbox& sandbox) : sandbox_(sandbox) {
    ++sandbox_.calls_;
    sandbox_.Publish();
  }
  CallGuard(const CallGuard&) = delete;
  CallGuard& operator=(const CallGuard&) = delete;
  ~CallGuard() {
    --sandbox_.calls_;
    sandbox_.Publish();
  }

 private:
  Sandbox& sandbox_;
};

Sandbox::Sandbox(const SandboxContext& context, SandboxRow row, bool recorded,
                 std::vector<JobRow> jobs)
    : context_(context),
      key_(row.key),
      principal_(row.principal),
      label_(row.label),
      volume_(row.volume),
      generation_(row.generation),
      strand_(boost::asio::make_strand(context.executor)),
      row_(std::move(row)),
      recorded_(recorded),
      volume_exists_(recorded),
      touched_(row_.last_used),
      lock_(strand_),
      jobs_(MakeJobTable(strand_, context.store, context.clock, context.random, context.limits.jobs,
                         key_, SpoolFolder(context.state_dir, key_), std::move(jobs), context.disk,
                         *this)),
      view_{.snapshot = {.key = key_,
                         .label = label_,
                         .principal = principal_,
                         .generation = generation_,
                         .created = row_.created,
                         .last_used = row_.last_used,
                         .hostname = key_.text()}} {
  Publish();
}

Async<StartedJob> Sandbox::StartJob(JobSpec spec) {
  return OnStrand(StartJobHere(std::move(spec)));
}

Async<WatchedJob> Sandbox::WatchJob(std::optional<JobId> id, std::int64_t from_offset,
                                    bool follow) {
  return OnStrand(WatchJobHere(std::move(id), from_offset, follow));
}

Async<std::vector<JobSnapshot>> Sandbox::ListJobs(int limit) {
  return OnStrand(ListJobsHere(limit));
}

Async<std::int64_t> Sandbox::SendInput(JobId id, std::string data, bool end) {
  return OnStrand(SendInputHere(std::move(id), std::move(data), end));
}

Async<JobSnapshot> Sandbox::SignalJob(JobId id, int signal, absl::Duration grace) {
  return OnStrand(SignalJobHere(std::move(id), signal, grace));
}

Async<Arrival> Sandbox::ReadyForFiles() { return OnStrand(ReadyForFilesHere()); }

Async<void> Sandbox::FilesChanged() { return OnStrand(FilesChangedHere()); }

Async<void> Sandbox::ForgetJobs(absl::Time ended_before) {
  return OnStrand(ForgetJobsHere(ended_before));
}

Async<void> Sandbox::LookAgain() { return OnStrand(LookAgainHere()); }

Async<void> Sandbox::ForgetOldestOutput() { return OnStrand(ForgetOldestOutputHere()); }

Async<StartedJob> Sandbox::StartJobHere(JobSpec spec) {
  const CallGuard call(*this);
  const absl::Time last_used_before = row_.last_used;
  // A retry attaches, whether its container still runs or not.
  absl::StatusOr<JobSnapshot> known = jobs_->Find(spec.id);
  if (known.ok()) co_return Started(*std::move(known), Arrival::kRunning, last_used_before);
  CO_ASSIGN_OR_RETURN(const Arrival arrival, co_await EnsureRunning());
  CO_RETURN_IF_ERROR(co_await Touch(context_.clock.Now()));
  CO_ASSIGN_OR_RETURN(JobSnapshot job, co_await jobs_->Start(std::move(spec)));
  co_return Started(std::move(job), arrival, last_used_before);
}

absl::StatusOr<StartedJob> Sandbox::Started(JobSnapshot job, Arrival arrival,
                                            absl::Time last_used_before) {
  ASSIGN_OR_RETURN(std::unique_ptr<JobWatcher> watcher, jobs_->Watch(job.id, 0, true));
  std::vector<std::string> notes;
  for (const std::string& head : std::exchange(cut_off_, {})) {
    notes.push_back(StrCat("this command was cut off when its container ended: ", head));
  }
  SandboxSnapshot now = View().snapshot;
  // The view may be of the moment before this job was added.
  now.running_jobs = jobs_->running();
  return StartedJob{.sandbox = std::move(now),
                    .arrival = arrival,
                    .last_used_before = last_used_before,
                    .job = std::move(job),
                    .timeout_lowered_to = std::nullopt,
                    .notes = std::move(notes),
                    .watcher = std::move(watcher)};
}

Async<WatchedJob> Sandbox::WatchJobHere(std::optional<JobId> id, std::int64_t from_offset,
                                        bool follow) {
  CO_ASSIGN_OR_RETURN(JobSnapshot job, id ? jobs_->Find(*id) : jobs_->Newest());
  CO_ASSIGN_OR_RETURN(std::unique_ptr<JobWatcher> watcher,
                      jobs_->Watch(job.id, from_offset, follow));
  co_return WatchedJob{.job = std::move(job), .watcher = std::move(watcher)};
}

Async<std::vector<JobSnapshot>> Sandbox::ListJobsHere(int limit) { co_return jobs_->List(limit); }

Async<std::int64_t> Sandbox::SendInputHere(JobId id, std::string data, bool end) {
  co_return co_await jobs_->SendInput(std::move(id), std::move(data), end);
}

Async<JobSnapshot> Sandbox::SignalJobHere(JobId id, int signal, absl::Duration grace) {
  // Who gives a grace wants it to end; who gives none wants it to hear.
  const bool cancel = grace > absl::ZeroDuration();
  co_return co_await jobs_->Signal(std::move(id), signal, grace, cancel);
}

Async<Arrival> Sandbox::ReadyForFilesHere() {
  const CallGuard call(*this);
  if (volume_exists_ && recorded_ && !forgotten_) co_return Arrival::kRunning;
  co_return co_await EnsureRunning();
}

Async<void> Sandbox::FilesChangedHere() {
  jobs_->RenewStandby();
  co_return co_await Touch(context_.clock.Now());
}

Async<void> Sandbox::ForgetJobsHere(absl::Time ended_before) {
  co_return co_await jobs_->Forget(ended_before);
}

Async<void> Sandbox::LookAgainHere() {
  Publish();
  co_return absl::OkStatus();
}

Async<void> Sandbox::ForgetOldestOutputHere() {
  const absl::Status forgotten = co_await jobs_->ForgetOldest();
  Publish();
  co_return forgotten;
}

Async<void> Sandbox::Touch(absl::Time now) {
  const absl::Time before = row_.last_used;
  row_.last_used = now;
  Publish();
  if (before == absl::InfinitePast()) {
    // Written before the first command, or a crash would make the sandbox new a second time.
    absl::Status written = co_await context_.store.TouchSandbox(key_, now);
    if (!written.ok()) row_.last_used = before;
    co_return written;
  }
  TouchSoon();
  co_return absl::OkStatus();
}

void Sandbox::TouchSoon() {
  if (row_.last_used - touched_ < absl::FromChrono(kTouchInterval)) return;
  touched_ = row_.last_used;
  Spawn(strand_, "sandbox.touch", Shield(shared_from_this(), WriteTouch(touched_)));
}

boost::asio::awaitable<void> Sandbox::WriteTouch(absl::Time used) {
  const absl::Status written = co_await context_.store.TouchSandbox(key_, used);
  if (!written.ok() && !absl::IsNotFound(written)) {
    Log(Severity::kWarning, "sandbox.touch_failed", {{"sandbox", key_.text()}, {"why", written}});
  }
}

void Sandbox::OnActivity() {
  const int active = jobs_->running() + jobs_->left_behind();
  if (std::exchange(active_, active) != active && recorded_) {
    row_.last_used = context_.clock.Now();
    TouchSoon();
  }
  Publish();
}

SandboxView Sandbox::View() const {
  const std::lock_guard lock(view_mutex_);
  return view_;
}

bool Sandbox::Busy() const {
  return calls_ > 0 || jobs_->running() > 0 || jobs_->left_behind() > 0;
}

void Sandbox::Publish() {
  const bool busy = Busy();
  const int running_jobs = jobs_->running();
  const std::int64_t output_bytes = jobs_->output_bytes();
  const absl::Time oldest_output = jobs_->oldest_output();
  const std::lock_guard lock(view_mutex_);
  view_.snapshot.state = state_;
  view_.snapshot.last_used = row_.last_used;
  view_.snapshot.running_jobs = running_jobs;
  view_.recorded = recorded_;
  view_.snapshot.busy = busy;
  view_.output_bytes = output_bytes;
  view_.oldest_output = oldest_output;
}

}  // namespace sandkeep
