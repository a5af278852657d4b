// What init says of jobs, and what becomes of their records.

#include <unistd.h>

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "agent/jobs/table.h"
#include "common/limits.h"
#include "common/status_macros.h"

namespace sandkeep {

namespace asio = boost::asio;

void Table::OnStarted(const JobId& id) {
  if (const EntryPtr job = jobs_.FindLive(id)) job->OnStarted();
}

void Table::OnExited(const JobId& id, int wait_status, int left_behind, bool supervisor_lost) {
  standby_.OnExited(id);
  if (const EntryPtr job = jobs_.FindLive(id)) {
    job->OnExited(wait_status, left_behind, supervisor_lost);
  }
}

void Table::OnGone(const JobId& id) {
  if (standby_.OnGone(id)) {
    const absl::Status told = link_->Forget(id);
    if (!told.ok()) Log(Severity::kWarning, "job.not_forgotten", {{"why", told}});
    return;
  }
  if (const EntryPtr job = jobs_.FindLive(id)) job->OnGone();
  TellActivity();
}

void Table::OnWaiting(const JobId& id) {
  if (const EntryPtr job = jobs_.FindLive(id)) job->OnWaiting();
}

void Table::OnPortOpened(std::uint16_t port) {
  ports_->Add(port);
  for (const EntryPtr& job : jobs_.Live()) job->changed().Notify();
}

void Table::OnRefused(const JobId& id, absl::Status reason) {
  if (standby_.OnGone(id)) return;
  if (const EntryPtr job = jobs_.FindLive(id)) job->OnRefused(reason);
}

void Table::OnBroken(absl::Status why) {
  ++attachment_;
  Unlink();
  Log(Severity::kWarning, "init.broken", {{"sandbox", sandbox_.text()}, {"why", why}});
  if (events_ != nullptr) events_->OnInitBroken(std::move(why));
}

void Table::SignalTree(const JobId& id, int signal) {
  if (!link_) return;
  const absl::Status sent = link_->Signal(id, signal, /*tree=*/true);
  if (!sent.ok()) Log(Severity::kWarning, "job.not_signalled", {{"job", id.hex()}, {"why", sent}});
}

std::optional<KernelCounts> Table::Counts() const { return counts_ ? counts_() : std::nullopt; }

void Table::OnEnded(const EntryPtr& job) {
  TellActivity();
  if (std::find(unrecorded_.begin(), unrecorded_.end(), job) != unrecorded_.end()) return;
  unrecorded_.push_back(job);
  if (unrecorded_.size() > 1) return;
  record_.expires_after(kRecordDelay);
  auto due = [self = shared_from_this()](boost::system::error_code) {
    Spawn(self->strand_, "job.record", Record(self, std::exchange(self->unrecorded_, {})));
  };
  record_.async_wait(std::move(due));
}

void Table::OnSettled(const EntryPtr& job) {
  jobs_.SetSettled(job);
  ForgetIfDone(job);
  TellActivity();
}

// Together: of many that end at once each would take a transaction.
asio::awaitable<void> Table::Record(std::shared_ptr<Table> self, std::vector<EntryPtr> jobs) {
  asio::steady_timer pause(self->strand_);
  while (self->events_ != nullptr) {
    std::vector<JobRow> rows;
    for (const EntryPtr& job : jobs) rows.push_back(job->row());
    auto put = self->store_.PutJobs(std::move(rows));
    const absl::Status status = co_await std::move(put);
    if (status.ok()) break;
    for (const EntryPtr& job : jobs) {
      Log(Severity::kError, "job.not_recorded", {{"job", job->row().id.hex()}, {"why", status}});
    }
    pause.expires_after(kRecordRetry);
    co_await pause.async_wait(asio::as_tuple(asio::use_awaitable));
  }
  if (self->events_ == nullptr) co_return;
  for (const EntryPtr& job : jobs) {
    job->SetRecorded();
    self->ForgetIfDone(job);
  }
  // They can be forgotten now.
  self->TellActivity();
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
  // What is on its way will say this, too.
  if (std::exchange(telling_, true)) return;
  asio::post(strand_, [self = shared_from_this()]() {
    self->telling_ = false;
    if (self->events_ != nullptr) self->events_->OnActivity();
  });
}

Async<void> Table::Forget(absl::Time ended_before) { return Drop(jobs_.Forgettable(ended_before)); }

Async<void> Table::ForgetOldest() {
  std::vector<EntryPtr> jobs;
  if (EntryPtr oldest = jobs_.OldestWithOutput()) jobs.push_back(std::move(oldest));
  return Drop(std::move(jobs));
}

// Written before anything is dropped: the next agent must know which bytes are gone.
Async<bool> Table::NarrowLargest() {
  const std::shared_ptr<Table> self = shared_from_this();
  EntryPtr largest;
  for (const EntryPtr& job : jobs_.Live()) {
    if (job->ended()) continue;
    if (!largest || job->kept_bytes() > largest->kept_bytes()) largest = job;
  }
  if (!largest || largest->kept_bytes() <= kLeastSpoolBytes) co_return false;
  JobRow row = largest->row();
  row.spool_bytes = std::max(largest->kept_bytes() / 2, kLeastSpoolBytes);
  const std::int64_t narrower = row.spool_bytes;
  auto put = store_.PutJob(std::move(row));
  CO_RETURN_IF_ERROR(co_await std::move(put));
  largest->NarrowOutput(narrower);
  co_return true;
}

Async<void> Table::Drop(std::vector<EntryPtr> jobs) {
  const std::shared_ptr<Table> self = shared_from_this();
  std::vector<JobKey> gone;
  for (const EntryPtr& job : jobs) {
    gone.push_back({sandbox_, job->row().id});
    for (std::size_t i = 0; i < job->streams(); ++i) ::unlink(job->spool_path(i).c_str());
    jobs_.Remove(job);
  }
  jobs.clear();
  if (gone.empty()) co_return absl::OkStatus();
  auto remove = store_.DeleteJobs(std::move(gone));
  co_return co_await std::move(remove);
}

// While the command runs: init starts it when all is over.
void Table::MakeStandby() {
  asio::post(strand_, [self = shared_from_this()]() {
    if (self->link_) self->standby_.Make(*self->link_);
  });
}

void Table::RenewStandby() {
  standby_.Drop();
  // While something lives, another would only wait for its end: the next command asks for one.
  if (link_ && jobs_.live() == 0) MakeStandby();
}

asio::awaitable<void> Table::ForgetSurplus(std::shared_ptr<Table> self) {
  auto forget = self->Forget(absl::InfinitePast());
  const absl::Status forgotten = co_await std::move(forget);
  if (!forgotten.ok()) Log(Severity::kWarning, "job.surplus_left", {{"why", forgotten}});
}

}  // namespace sandkeep
