// The job table itself. For job_table.cc and its own files: others see JobTable.
//
// Its coroutines and handlers hold on to it; the one who owns it may let go at any time (Close).
// On the sandbox's strand.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "agent/init_link/init_link.h"
#include "agent/jobs/job_entry.h"
#include "agent/jobs/job_pipes.h"
#include "agent/jobs/job_registry.h"
#include "agent/jobs/job_table.h"
#include "agent/jobs/port_news.h"
#include "agent/jobs/standby.h"

namespace sandkeep {

class Table : public std::enable_shared_from_this<Table>,
              private InitEvents,
              private JobEntryOwner {
 public:
  using EntryPtr = std::shared_ptr<JobEntry>;

  Table(boost::asio::any_io_executor strand, Store& store, Clock& clock, Random& random,
        JobLimits limits, SandboxKey sandbox, std::string spool_dir,
        boost::asio::any_io_executor disk, JobTableEvents& events)
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
  absl::Status Freeze(bool frozen);
  void Pause(const std::string& reason, absl::Time began_until);
  void GoOn();
  Async<void> Forget(absl::Time ended_before);
  Async<void> ForgetOldest();
  Async<bool> NarrowLargest();
  void RenewStandby();
  std::optional<std::string> TakeNews() { return ports_->Take(); }

 private:
  void OnStarted(const JobId& id) override;
  void OnExited(const JobId& id, int wait_status, int left_behind, bool supervisor_lost) override;
  void OnGone(const JobId& id) override;
  void OnWaiting(const JobId& id) override;
  void OnPortOpened(std::uint16_t port) override;
  void OnRefused(const JobId& id, absl::Status reason) override;
  void OnBroken(absl::Status why) override;

  void SignalTree(const JobId& id, int signal) override;
  std::optional<KernelCounts> Counts() const override;
  void OnEnded(const EntryPtr& job) override;
  void OnSettled(const EntryPtr& job) override;

  JobRow RowOf(const JobSpec& spec, const JobPipes& pipes) const;
  // ResourceExhausted: with so much more there would be too much input that nobody has read.
  absl::Status CheckInput(std::size_t more) const;
  absl::Status Launch(JobEntry& job, JobSpec spec, JobPipes pipes,
                      std::optional<StandbyShell> shell);
  void MakeStandby();
  void Unlink();
  EntryPtr Add(JobRow row);
  absl::Status Adopt(std::vector<InitJob> jobs, const Outcome& lost);
  void LoseAllBut(const absl::flat_hash_set<JobId>& kept, const Outcome& lost);
  Async<void> Drop(std::vector<EntryPtr> jobs);
  void ForgetIfDone(const EntryPtr& job);
  void TellActivity();
  static boost::asio::awaitable<void> Record(std::shared_ptr<Table> self,
                                             std::vector<EntryPtr> jobs);
  static boost::asio::awaitable<void> ForgetSurplus(std::shared_ptr<Table> self);

  boost::asio::any_io_executor strand_;
  boost::asio::any_io_executor disk_;
  Store& store_;
  Clock& clock_;
  Random& random_;
  JobLimits limits_;
  SandboxKey sandbox_;
  std::string spool_dir_;
  JobTableEvents* events_;

  JobRegistry jobs_;
  std::unique_ptr<InitLink> link_;
  std::function<std::optional<KernelCounts>()> counts_;
  Standby standby_{random_};
  // Watchers, which may outlive the table, tell of them too.
  const std::shared_ptr<PortNews> ports_ = std::make_shared<PortNews>();
  // Ended, and on their way to the store.
  std::vector<EntryPtr> unrecorded_;
  boost::asio::steady_timer record_{strand_};
  bool telling_ = false;
  // Counts Attach and Detach: who waited in between sees that the world has changed.
  int attachment_ = 0;
};

}  // namespace sandkeep
