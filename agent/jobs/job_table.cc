#include "agent/jobs/job_table.h"

#include <unistd.h>

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/functional/any_invocable.h"
#include "agent/jobs/command_head.h"
#include "agent/jobs/job_entry.h"
#include "agent/jobs/job_pipes.h"
#include "agent/jobs/job_registry.h"
#include "agent/jobs/watcher.h"
#include "common/limits.h"
#include "common/status_macros.h"
#include "common/strings.h"

namespace sandkeep {
namespace {

namespace asio = boost::asio;
using EntryPtr = std::shared_ptr<JobEntry>;

// What the coroutines and handlers hold on to; the table itself may go at any time.
class Table : public std::enable_shared_from_this<Table>,
              private InitEvents,
              private JobEntryOwner {
 public:
  Table(asio::any_io_executor strand, Store& store, Clock& clock, Random& random, JobLimits limits,
        SandboxKey sandbox, std::string spool_dir, asio::any_io_executor disk,
        JobTableEvents& events)
      : strand_(std::move(strand)),
        disk_(std::move(disk)),
        store_(store),
        clock_(clock),
        random_(random),
        limits_(limits),
        sandbox_(std::move(sandbox)),
        spool_dir_(std::move(spool_dir)),
        events_(&events) {}

  void Load(std::vector<JobRow> known);
  void Close();

  Async<JobSnapshot> Start(JobSpec spec);
  absl::StatusOr<EntryPtr> FindEntry(const JobId& id) const;
  const JobRegistry& jobs() const { return jobs_; }
  absl::StatusOr<std::unique_ptr<JobWatcher>> Watch(const JobId& id, std::int64_t from_offset,
                                                    bool follow);
  Async<std::int64_t> SendInput(JobId id, std::string data, bool end);
  Async<JobSnapshot> Signal(JobId id, int signal, absl::Duration grace, bool cancel);
  Async<void> Attach(RunningContainer container, Outcome lost);
  Async<void> Detach(Outcome lost);
  Async<void> Forget(absl::Time ended_before);

 private:
  void OnStarted(const JobId& id) override;
  void OnExited(const JobId& id, int wait_status, int left_behind, bool supervisor_lost) override;
  void OnGone(const JobId& id) override;
  void OnWaiting(const JobId& id) override;
  void OnRefused(const JobId& id, absl::Status reason) override;
  void OnBroken(absl::Status why) override;

  void SignalTree(const JobId& id, int signal) override;
  void OnEnded(const EntryPtr& job) override;
  void OnSettled(const EntryPtr& job) override;

  JobRow RowOf(const JobSpec& spec, const JobPipes& pipes) const;
  static absl::AnyInvocable<void()> PrepareLaunch(const EntryPtr& job, JobSpec& spec,
                                                  JobPipes& pipes,
                                                  std::shared_ptr<absl::Status> begun);
  absl::Status Launch(JobEntry& job, JobSpec spec, JobPipes pipes);
  EntryPtr Add(JobRow row);
  absl::Status Adopt(std::vector<InitJob> jobs, const Outcome& lost);
  void LoseAllBut(const absl::flat_hash_set<JobId>& kept, const Outcome& lost);
  void ForgetIfDone(const EntryPtr& job);
  void TellActivity();
  static asio::awaitable<void> Record(std::shared_ptr<Table> self, EntryPtr job);
  static asio::awaitable<void> ForgetSurplus(std::shared_ptr<Table> self);

  asio::any_io_executor strand_;
  asio::any_io_executor disk_;
  Store& store_;
  Clock& clock_;
  Random& random_;
  JobLimits limits_;
  SandboxKey sandbox_;
  std::string spool_dir_;
  JobTableEvents* events_;

  JobRegistry jobs_;
  std::unique_ptr<InitLink> link_;
  // Counts Attach and Detach: who waited in between sees that the world has changed.
  int attachment_ = 0;
};

void Table::Load(std::vector<JobRow> known) {
  // Two of one moment stand as the store has them.
  auto older = [](const JobRow& a, const JobRow& b) {
    return std::tie(a.started, a.id) < std::tie(b.started, b.id);
  };
  std::sort(known.begin(), known.end(), older);
  for (JobRow& row : known) Add(std::move(row));
}

EntryPtr Table::Add(JobRow row) {
  auto job = std::make_shared<JobEntry>(strand_, clock_, std::move(row), spool_dir_,
                                        static_cast<JobEntryOwner&>(*this));
  jobs_.Add(job);
  return job;
}

void Table::Close() {
  events_ = nullptr;
  ++attachment_;
  link_.reset();
  jobs_.AbandonAll();
}

JobRow Table::RowOf(const JobSpec& spec, const JobPipes& pipes) const {
  absl::Duration timeout = spec.timeout;
  if (timeout == absl::InfiniteDuration() && limits_.background > absl::ZeroDuration()) {
    timeout = limits_.background;
  }
  const absl::Time now = clock_.Now();
  return {.id = spec.id,
          .sandbox = sandbox_,
          .state = JobState::kStarting,
          .command_head = HeadOf(spec.command),
          .started = now,
          .ended = {},
          .merge_streams = spec.merge_streams,
          .stdin_open = spec.keep_stdin,
          .stdout_inode = pipes.out.inode,
          .stderr_inode = pipes.err.inode,
          .stdin_inode = pipes.in.inode,
          .spool_bytes = limits_.spool_bytes,
          .deadline = now + timeout,
          .grace = spec.grace,
          .outcome = std::nullopt};
}

Async<JobSnapshot> Table::Start(JobSpec spec) {
  const std::shared_ptr<Table> self = shared_from_this();
  if (const EntryPtr known = jobs_.Find(spec.id)) co_return known->Snapshot();
  if (!link_) co_return absl::FailedPreconditionError("the sandbox doesn't run");
  if (jobs_.live() >= kMaxInitJobs) {
    co_return absl::ResourceExhaustedError(
        StrCat(kMaxInitJobs, " commands of this sandbox run or left processes behind: end some"));
  }
  CO_ASSIGN_OR_RETURN(JobPipes pipes, MakePipes(spec));
  JobRow row = RowOf(spec, pipes);
  const EntryPtr job = Add(row);
  const int attachment = attachment_;

  // While the row is on its way to the disk, what only the agent needs is made.
  const auto begun = std::make_shared<absl::Status>(absl::UnknownError("not begun"));
  asio::post(strand_, PrepareLaunch(job, spec, pipes, begun));
  auto put = store_.PutJob(std::move(row));
  absl::Status status = co_await std::move(put);
  if (job->ended()) co_return job->Snapshot();  // The container went meanwhile.
  if (status.ok() && attachment != attachment_) status = absl::UnavailableError("interrupted");
  if (status.ok()) status = *begun;
  if (status.ok()) status = Launch(*job, std::move(spec), std::move(pipes));
  if (jobs_.size() > kMaxKnownJobs + kKnownJobsSlack) {
    Spawn(strand_, "jobs.trim", ForgetSurplus(self));
  }
  if (status.ok()) co_return job->Snapshot();

  // Init has heard nothing: as if it had never been.
  if (events_ == nullptr) co_return status;
  const std::vector<JobId> ids = {job->row().id};
  jobs_.Remove(job);
  auto undo = store_.DeleteJobs(ids);
  const absl::Status undone = co_await std::move(undo);
  if (!undone.ok()) Log(Severity::kWarning, "job.row_left", {{"why", undone}});
  co_return status;
}

// Posted before the row is: the strand comes to it first. Init hears nothing of it.
absl::AnyInvocable<void()> Table::PrepareLaunch(const EntryPtr& job, JobSpec& spec, JobPipes& pipes,
                                                std::shared_ptr<absl::Status> begun) {
  JobEntry::Pipes ours{std::move(pipes.out.ours), std::move(pipes.err.ours),
                       std::move(pipes.in.ours)};
  return [job, ours = std::move(ours), input = std::move(spec.stdin_text), keep = spec.keep_stdin,
          begun = std::move(begun)]() mutable {
    // The container may have gone, or the table, before the strand was free.
    if (job->ended() || job->abandoned()) return;
    *begun = job->Begin(std::move(ours), std::move(input), keep);
  };
}

absl::Status Table::Launch(JobEntry& job, JobSpec spec, JobPipes pipes) {
  RETURN_IF_ERROR(link_->Start(StartOf(spec, pipes)));
  job.SendEarlySignals();
  return absl::OkStatus();
}

absl::StatusOr<EntryPtr> Table::FindEntry(const JobId& id) const {
  EntryPtr job = jobs_.Find(id);
  if (job == nullptr) return absl::NotFoundError("no such job in this sandbox");
  return job;
}

absl::StatusOr<std::unique_ptr<JobWatcher>> Table::Watch(const JobId& id, std::int64_t from_offset,
                                                         bool follow) {
  ASSIGN_OR_RETURN(EntryPtr job, FindEntry(id));
  return MakeWatcher(strand_, disk_, std::move(job), from_offset, follow);
}

Async<std::int64_t> Table::SendInput(JobId id, std::string data, bool end) {
  const std::shared_ptr<Table> self = shared_from_this();
  if (data.size() > kMaxInputBytes) {
    co_return absl::InvalidArgumentError(
        StrCat("at most ", kMaxInputBytes, " bytes of input at once"));
  }
  CO_ASSIGN_OR_RETURN(const EntryPtr job, FindEntry(id));
  const auto size = static_cast<std::int64_t>(data.size());
  CO_RETURN_IF_ERROR(job->WriteInput(std::move(data), end));
  if (end && link_) CO_RETURN_IF_ERROR(link_->EndInput(id));
  co_return size;
}

Async<JobSnapshot> Table::Signal(JobId id, int signal, absl::Duration grace, bool cancel) {
  const std::shared_ptr<Table> self = shared_from_this();
  CO_ASSIGN_OR_RETURN(const EntryPtr job, FindEntry(id));
  job->Stop(signal, grace, cancel);
  co_return job->Snapshot();
}

Async<void> Table::Attach(RunningContainer container, Outcome lost) {
  const std::shared_ptr<Table> self = shared_from_this();
  const int attachment = ++attachment_;
  link_.reset();
  std::unique_ptr<InitLink> link = MakeInitLink(strand_, std::move(container), *this, random_);
  auto hello = link->Hello();
  absl::StatusOr<std::vector<InitJob>> jobs = co_await std::move(hello);
  if (attachment != attachment_) co_return absl::UnavailableError("interrupted");
  if (!jobs.ok()) co_return jobs.status();
  link_ = std::move(link);
  const absl::Status adopted = Adopt(*std::move(jobs), lost);
  if (!adopted.ok()) {
    link_.reset();
    co_return adopted;
  }
  link_->Listen();
  TellActivity();
  co_return absl::OkStatus();
}

absl::Status Table::Adopt(std::vector<InitJob> jobs, const Outcome& lost) {
  absl::flat_hash_set<JobId> kept;
  for (InitJob& named : jobs) {
    const JobId id = named.id;
    const EntryPtr job = jobs_.Find(id);
    if (job == nullptr) {
      // Its row was dropped since; nothing of ours waits for it.
      Log(Severity::kWarning, "job.unknown_to_us", {{"job", id.hex()}});
      RETURN_IF_ERROR(link_->Forget(id));
      continue;
    }
    kept.insert(id);
    jobs_.SetLive(job);
    RETURN_IF_ERROR(job->Adopt(std::move(named)));
  }
  LoseAllBut(kept, lost);
  return absl::OkStatus();
}

Async<void> Table::Detach(Outcome lost) {
  const std::shared_ptr<Table> self = shared_from_this();
  ++attachment_;
  link_.reset();
  LoseAllBut({}, lost);
  TellActivity();
  co_return absl::OkStatus();
}

void Table::LoseAllBut(const absl::flat_hash_set<JobId>& kept, const Outcome& lost) {
  for (const EntryPtr& job : jobs_.Live()) {
    if (!kept.contains(job->row().id)) job->Lose(lost);
  }
}

Async<void> Table::Forget(absl::Time ended_before) {
  const std::shared_ptr<Table> self = shared_from_this();
  std::vector<JobId> ids;
  for (const EntryPtr& job : jobs_.Forgettable(ended_before)) {
    ids.push_back(job->row().id);
    for (std::size_t i = 0; i < job->streams(); ++i) ::unlink(job->spool_path(i).c_str());
    jobs_.Remove(job);
  }
  if (ids.empty()) co_return absl::OkStatus();
  auto remove = store_.DeleteJobs(std::move(ids));
  co_return co_await std::move(remove);
}

asio::awaitable<void> Table::ForgetSurplus(std::shared_ptr<Table> self) {
  auto forget = self->Forget(absl::InfinitePast());
  const absl::Status forgotten = co_await std::move(forget);
  if (!forgotten.ok()) Log(Severity::kWarning, "job.surplus_left", {{"why", forgotten}});
}

void Table::OnStarted(const JobId& id) {
  if (const EntryPtr job = jobs_.FindLive(id)) job->OnStarted();
}

void Table::OnExited(const JobId& id, int wait_status, int left_behind, bool supervisor_lost) {
  if (const EntryPtr job = jobs_.FindLive(id))
    job->OnExited(wait_status, left_behind, supervisor_lost);
}

void Table::OnGone(const JobId& id) {
  if (const EntryPtr job = jobs_.FindLive(id)) job->OnGone();
  TellActivity();
}

void Table::OnWaiting(const JobId& id) {
  if (const EntryPtr job = jobs_.FindLive(id)) job->OnWaiting();
}

void Table::OnRefused(const JobId& id, absl::Status reason) {
  if (const EntryPtr job = jobs_.FindLive(id)) job->OnRefused(reason);
}

void Table::OnBroken(absl::Status why) {
  ++attachment_;
  link_.reset();
  Log(Severity::kWarning, "init.broken", {{"sandbox", sandbox_.text()}, {"why", why}});
  if (events_ != nullptr) events_->OnInitBroken(std::move(why));
}

void Table::SignalTree(const JobId& id, int signal) {
  if (!link_) return;
  const absl::Status sent = link_->Signal(id, signal, /*tree=*/true);
  if (!sent.ok()) Log(Severity::kWarning, "job.not_signalled", {{"job", id.hex()}, {"why", sent}});
}

void Table::OnEnded(const EntryPtr& job) {
  TellActivity();
  Spawn(strand_, "job.record", Record(shared_from_this(), job));
}

void Table::OnSettled(const EntryPtr& job) {
  jobs_.SetSettled(job);
  ForgetIfDone(job);
  TellActivity();
}

asio::awaitable<void> Table::Record(std::shared_ptr<Table> self, EntryPtr job) {
  asio::steady_timer pause(self->strand_);
  for (;;) {
    auto put = self->store_.PutJob(job->row());
    const absl::Status status = co_await std::move(put);
    if (status.ok()) break;
    Log(Severity::kError, "job.not_recorded", {{"job", job->row().id.hex()}, {"why", status}});
    pause.expires_after(kRecordRetry);
    co_await pause.async_wait(asio::as_tuple(asio::use_awaitable));
    if (self->events_ == nullptr) co_return;
  }
  job->SetRecorded();
  self->ForgetIfDone(job);
}

// Init keeps a job until its end is recorded and nothing of it can come any more: an agent that
// dies before that finds it there again.
void Table::ForgetIfDone(const EntryPtr& job) {
  if (!link_ || !job->recorded() || !job->settled()) return;
  const absl::Status told = link_->Forget(job->row().id);
  // A job that init had refused, or that another container had.
  if (!told.ok() && !absl::IsFailedPrecondition(told)) {
    Log(Severity::kWarning, "job.not_forgotten", {{"why", told}});
  }
}

void Table::TellActivity() {
  asio::post(strand_, [self = shared_from_this()]() {
    if (self->events_ != nullptr) self->events_->OnActivity();
  });
}

class OwnedTable : public JobTable {
 public:
  explicit OwnedTable(std::shared_ptr<Table> table) : table_(std::move(table)) {}
  ~OwnedTable() override { table_->Close(); }

  Async<JobSnapshot> Start(JobSpec spec) override { return table_->Start(std::move(spec)); }
  absl::StatusOr<JobSnapshot> Find(const JobId& id) const override {
    ASSIGN_OR_RETURN(const EntryPtr job, table_->FindEntry(id));
    return job->Snapshot();
  }
  absl::StatusOr<JobSnapshot> Newest() const override { return table_->jobs().Newest(); }
  std::vector<JobSnapshot> List(int limit) const override { return table_->jobs().List(limit); }
  absl::StatusOr<std::unique_ptr<JobWatcher>> Watch(const JobId& id, std::int64_t from_offset,
                                                    bool follow) override {
    return table_->Watch(id, from_offset, follow);
  }
  Async<std::int64_t> SendInput(JobId id, std::string data, bool end) override {
    return table_->SendInput(std::move(id), std::move(data), end);
  }
  Async<JobSnapshot> Signal(JobId id, int signal, absl::Duration grace, bool cancel) override {
    return table_->Signal(std::move(id), signal, grace, cancel);
  }
  Async<void> Attach(RunningContainer container, Outcome lost) override {
    return table_->Attach(std::move(container), std::move(lost));
  }
  Async<void> Detach(Outcome lost) override { return table_->Detach(std::move(lost)); }
  Async<void> Forget(absl::Time ended_before) override { return table_->Forget(ended_before); }
  int running() const override { return table_->jobs().running(); }
  int left_behind() const override { return table_->jobs().left_behind(); }

 private:
  std::shared_ptr<Table> table_;
};

}  // namespace

std::unique_ptr<JobTable> MakeJobTable(asio::any_io_executor strand, Store& store, Clock& clock,
                                       Random& random, JobLimits limits, SandboxKey sandbox,
                                       std::string spool_dir, std::vector<JobRow> known,
                                       asio::any_io_executor disk, JobTableEvents& events) {
  auto table =
      std::make_shared<Table>(std::move(strand), store, clock, random, limits, std::move(sandbox),
                              std::move(spool_dir), std::move(disk), events);
  table->Load(std::move(known));
  return std::make_unique<OwnedTable>(std::move(table));
}

}  // namespace sandkeep
