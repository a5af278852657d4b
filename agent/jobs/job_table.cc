#include "agent/jobs/job_table.h"

#include <utility>

#include "agent/jobs/table.h"
#include "common/status_macros.h"

namespace sandkeep {
namespace {

class OwnedTable : public JobTable {
 public:
  explicit OwnedTable(std::shared_ptr<Table> table) : table_(std::move(table)) {}
  ~OwnedTable() override { table_->Close(); }

  Async<JobSnapshot> Start(JobSpec spec) override { return table_->Start(std::move(spec)); }
  absl::StatusOr<JobSnapshot> Find(const JobId& id) const override {
    ASSIGN_OR_RETURN(const Table::EntryPtr job, table_->FindEntry(id));
    return job->Snapshot();
  }
  std::optional<SettledJob> FindSettled(const JobId& id) const override {
    return table_->jobs().settled().Find(id);
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
  absl::Status Freeze(bool frozen) override { return table_->Freeze(frozen); }
  void Pause(const std::string& reason, absl::Time began_until) override {
    table_->Pause(reason, began_until);
  }
  void GoOn() override { table_->GoOn(); }
  Async<void> Forget(absl::Time ended_before) override { return table_->Forget(ended_before); }
  void RenewStandby() override { table_->RenewStandby(); }
  std::optional<std::string> TakeNews() override { return table_->TakeNews(); }
  std::int64_t output_bytes() const override { return table_->jobs().output_bytes(); }
  absl::Time oldest_output() const override {
    const Table::EntryPtr oldest = table_->jobs().OldestWithOutput();
    return oldest == nullptr ? absl::InfiniteFuture() : oldest->row().ended;
  }
  Async<void> ForgetOldest() override { return table_->ForgetOldest(); }
  Async<bool> NarrowLargest() override { return table_->NarrowLargest(); }
  bool all_recorded() const override { return table_->jobs().AllRecorded(); }
  int running() const override { return table_->jobs().running(); }
  int left_behind() const override { return table_->jobs().left_behind(); }

 private:
  std::shared_ptr<Table> table_;
};

}  // namespace

std::unique_ptr<JobTable> MakeJobTable(boost::asio::any_io_executor strand, Store& store,
                                       Clock& clock, Random& random, JobLimits limits,
                                       SandboxKey sandbox, std::string spool_dir,
                                       std::vector<JobRow> known, boost::asio::any_io_executor disk,
                                       JobTableEvents& events) {
  auto table =
      std::make_shared<Table>(std::move(strand), store, clock, random, limits, std::move(sandbox),
                              std::move(spool_dir), std::move(disk), events);
  table->Load(std::move(known));
  return std::make_unique<OwnedTable>(std::move(table));
}

}  // namespace sandkeep
