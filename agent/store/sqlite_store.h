// The store over one SQLite file with two connections: one that a power cut can't rob of a commit,
// one that only process death can't. Both live on the store's own thread.
#pragma once

#include <boost/asio/thread_pool.hpp>
#include <utility>

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
  Async<void> DeleteSandbox(SandboxKey key) override;
  Async<std::vector<JobRow>> LoadJobs() override;
  Async<void> PutJob(JobRow row) override;
  Async<void> DeleteJobs(std::vector<JobId> ids) override;

 private:
  // Connections, and the statements that every command runs, prepared once. The store's thread
  // only, after Open.
  struct Connections {
    Database durable;
    Database quick;
    Statement put_job;
    Statement touch_sandbox;
  };

  explicit SqliteStore(Connections connections) : db_(std::move(connections)) {}

  template <typename Body>
  boost::asio::awaitable<std::invoke_result_t<Body>> OnThread(Body body) {
    return RunOn(thread_.get_executor(), std::move(body));
  }

  Connections db_;
  boost::asio::thread_pool thread_{1};
};

}  // namespace sandkeep
