#include "agent/jobs/table.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <tuple>
#include <utility>

#include "agent/jobs/command_head.h"
#include "agent/jobs/watcher.h"
#include "common/limits.h"
#include "common/status_macros.h"
#include "common/strings.h"

namespace sandkeep {
namespace {

namespace asio = boost::asio;

JobEntry::Pipes OursOf(JobPipes& pipes) {
  return {std::move(pipes.out.ours), std::move(pipes.err.ours), std::move(pipes.in.ours)};
}

}  // namespace

void Table::Load(std::vector<JobRow> known) {
  // Two of one moment stand as the store has them.
  auto older = [](const JobRow& a, const JobRow& b) {
    return std::tie(a.started, a.id) < std::tie(b.started, b.id);
  };
  std::sort(known.begin(), known.end(), older);
  for (JobRow& row : known) Add(std::move(row));
}

Table::EntryPtr Table::Add(JobRow row) {
  auto job = std::make_shared<JobEntry>(strand_, disk_, clock_, std::move(row), spool_dir_,
                                        static_cast<JobEntryOwner&>(*this));
  jobs_.Add(job);
  return job;
}

void Table::Close() {
  events_ = nullptr;
  ++attachment_;
  Unlink();
  jobs_.AbandonAll();
}

void Table::Unlink() {
  link_.reset();
  standby_.Clear();
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
  CO_RETURN_IF_ERROR(CheckInput(spec.stdin_text.size()));
  // Whatever lives may still change what a shell reads when it starts.
  std::optional<StandbyShell> shell;
  if (jobs_.live() == 0) shell = standby_.Take(spec);
  CO_ASSIGN_OR_RETURN(JobPipes pipes, shell ? PipesOf(*shell) : MakePipes(spec));
  JobRow row = RowOf(spec, pipes);
  const EntryPtr job = Add(row);
  const int attachment = attachment_;

  // Of this init hears nothing yet.
  absl::Status status = job->Begin(OursOf(pipes), std::move(spec.stdin_text), spec.keep_stdin);
  if (status.ok()) {
    auto put = store_.PutJob(std::move(row));
    status = co_await std::move(put);
  }
  if (job->ended()) co_return job->Snapshot();  // The container went meanwhile.
  if (status.ok() && attachment != attachment_) status = absl::UnavailableError("interrupted");
  if (status.ok()) status = Launch(*job, std::move(spec), std::move(pipes), std::move(shell));
  if (jobs_.size() > kMaxKnownJobs + kKnownJobsSlack) {
    Spawn(strand_, "jobs.trim", ForgetSurplus(self));
  }
  if (status.ok()) co_return job->Snapshot();

  // Init has heard nothing: as if it had never been.
  if (events_ == nullptr) co_return status;
  const std::vector<JobKey> gone = {{sandbox_, job->row().id}};
  jobs_.Remove(job);
  auto undo = store_.DeleteJobs(gone);
  const absl::Status undone = co_await std::move(undo);
  if (!undone.ok()) Log(Severity::kWarning, "job.row_left", {{"why", undone}});
  co_return status;
}

// Ours to hold, or in files that count against us.
absl::Status Table::CheckInput(std::size_t more) const {
  const std::int64_t pending = jobs_.pending_input();
  if (more == 0 || pending + static_cast<std::int64_t>(more) <= kMaxPendingInputBytes) {
    return absl::OkStatus();
  }
  return absl::ResourceExhaustedError(
      StrCat("commands of this sandbox were given ", pending,
             " bytes of input and run on: end some, or put the input into a file"));
}

absl::Status Table::Launch(JobEntry& job, JobSpec spec, JobPipes pipes,
                           std::optional<StandbyShell> shell) {
  if (shell) {
    absl::Status used = link_->Use(shell->id, spec.id);
    // It went while the row was being written; a second try of the call gets a shell of its own.
    if (absl::IsFailedPrecondition(used))
      used = absl::UnavailableError("its shell went: try again");
    RETURN_IF_ERROR(used);
    standby_.Used(shell->id);
    shell->Release();
  } else {
    RETURN_IF_ERROR(link_->Start(StartOf(spec, pipes)));
  }
  job.SendEarlySignals();
  MakeStandby();
  return absl::OkStatus();
}

absl::StatusOr<Table::EntryPtr> Table::FindEntry(const JobId& id) const {
  EntryPtr job = jobs_.Find(id);
  if (job == nullptr) return absl::NotFoundError("no such job in this sandbox");
  return job;
}

absl::StatusOr<std::unique_ptr<JobWatcher>> Table::Watch(const JobId& id, std::int64_t from_offset,
                                                         bool follow) {
  ASSIGN_OR_RETURN(EntryPtr job, FindEntry(id));
  return MakeWatcher(strand_, disk_, std::move(job), ports_, from_offset, follow);
}

Async<std::int64_t> Table::SendInput(JobId id, std::string data, bool end) {
  const std::shared_ptr<Table> self = shared_from_this();
  if (data.size() > kMaxInputBytes) {
    co_return absl::InvalidArgumentError(
        StrCat("at most ", kMaxInputBytes, " bytes of input at once"));
  }
  CO_ASSIGN_OR_RETURN(const EntryPtr job, FindEntry(id));
  const auto size = static_cast<std::int64_t>(data.size());
  CO_RETURN_IF_ERROR(CheckInput(data.size()));
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
  Unlink();
  counts_ = std::move(container.counts);
  std::unique_ptr<InitLink> link = MakeInitLink(strand_, std::move(container), *this, random_);
  auto hello = link->Hello();
  absl::StatusOr<std::vector<InitJob>> jobs = co_await std::move(hello);
  if (attachment != attachment_) co_return absl::UnavailableError("interrupted");
  if (!jobs.ok()) co_return jobs.status();
  link_ = std::move(link);
  const absl::Status adopted = Adopt(*std::move(jobs), lost);
  if (!adopted.ok()) {
    Unlink();
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
  Unlink();
  ports_->Clear();
  LoseAllBut({}, lost);
  TellActivity();
  co_return absl::OkStatus();
}

absl::Status Table::Freeze(bool frozen) {
  if (!link_) return absl::UnavailableError("the sandbox doesn't run");
  return frozen ? link_->FreezeAll() : link_->ThawAll();
}

void Table::Pause(const std::string& reason, absl::Time began_until) {
  if (!link_) return;
  for (const EntryPtr& job : jobs_.Live()) {
    if (job->row().started <= began_until) job->Pause(reason);
  }
}

void Table::GoOn() {
  if (!link_) return;
  for (const EntryPtr& job : jobs_.Live()) job->GoOn();
}

void Table::LoseAllBut(const absl::flat_hash_set<JobId>& kept, const Outcome& lost) {
  for (const EntryPtr& job : jobs_.Live()) {
    if (!kept.contains(job->row().id)) job->Lose(lost);
  }
}

}  // namespace sandkeep
