// The store over one SQLite file with two connections: one that a power cut can't rob of a commit,
// one that only process death can't. Both live on the store's own thread, but for the row of a job:
// every command waits for that, and it is written where it comes from if the connection is free,
// since two changes of thread cost ten times the write. It goes into the kernel's memory, as a
// spool does; what waits for the disk (the log's way into the file) is left to the thread.
#pragma once

#include <atomic>
#include <boost/asio/thread_pool.hpp>
#include <mutex>
#include <optional>
#include <utility>

#include "absl/types/span.h"
#include "agent/store/store.h"
#include "common/run_on.h"
#include "common/sqlite.h"

namespace sandkeep {

class SqliteStore : public Store {
 public:
  static absl::StatusOr<std::unique_ptr<SqliteStore>> Open(const std::string& path);
  ~SqliteStore() override;

  Async<std::vector<SandboxRow>> LoadSandboxes() override;
  Async<void> PutSandbox(SandboxRow row) override;
  Async<void> SetContainer(SandboxKey key, std::optional<EngineName> container) override;
  Async<void> TouchSandbox(SandboxKey key, absl::Time last_used) override;
  Async<void> SetRest(SandboxKey key, Rest rest, absl::Time since) override;
  Async<void> SetReinstall(SandboxKey key, std::string command) override;
  Async<void> SetDisk(SandboxKey key, DiskRow disk) override;
  Async<void> DeleteSandbox(SandboxKey key) override;
  Async<std::vector<WarmRow>> LoadWarm() override;
  Async<void> PutWarm(WarmRow row) override;
  Async<void> DeleteWarm(EngineName container) override;
  Async<std::vector<JobRow>> LoadJobs() override;
  Async<void> PutJob(JobRow row) override;
  Async<void> PutJobs(std::vector<JobRow> rows) override;
  Async<void> DeleteJobs(std::vector<JobKey> jobs) override;

 private:
  // Connections, and the statements that every command runs, prepared once. Used under the mutex.
  struct Connections {
    Database durable;
    Database quick;
    Statement put_job;
    Statement touch_sandbox;
  };

  explicit SqliteStore(Connections connections) : db_(std::move(connections)) {}

  template <typename Body>
  boost::asio::awaitable<std::invoke_result_t<Body>> OnThread(Body body) {
    ++queued_;
    auto alone = [this, body = std::move(body)]() mutable {
      const std::lock_guard lock(mutex_);
      auto result = body();
      --queued_;
      return result;
    };
    return RunOn(thread_.get_executor(), std::move(alone));
  }

  // Nothing: the thread is at work or has some waiting, after which this has its turn.
  std::optional<absl::Status> PutJobsHere(absl::Span<const JobRow> rows);
  // Under the mutex.
  absl::Status PutAll(absl::Span<const JobRow> rows);
  void CheckpointSoon();

  Connections db_;
  std::mutex mutex_;
  // What the thread has to do: nothing may overtake it.
  std::atomic<int> queued_ = 0;
  int puts_since_checkpoint_ = 0;  // Under the mutex.
  boost::asio::thread_pool thread_{1};
};

}  // namespace sandkeep
