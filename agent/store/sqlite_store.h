// The store over one SQLite file with two connections: one that a power cut can't rob of a commit,
// one that only process death can't. Both live on the store's own thread.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "agent/store/store.h"
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

  // Runs `body` on the store's thread; resumes with its result on the caller's executor. A plain
  // function, so that no closure lives in a co_await expression.
  template <typename Body>
  boost::asio::awaitable<std::invoke_result_t<Body>> OnThread(Body body) {
    using Result = std::invoke_result_t<Body>;
    auto initiate = [this](auto handler, Body run) {
      auto executor = boost::asio::prefer(boost::asio::get_associated_executor(handler),
                                          boost::asio::execution::outstanding_work.tracked);
      auto serve = [run = std::move(run), handler = std::move(handler),
                    executor = std::move(executor)]() mutable {
        Result result = run();
        auto resume = [handler = std::move(handler), result = std::move(result)]() mutable {
          std::move(handler)(std::move(result));
        };
        boost::asio::post(executor, std::move(resume));
      };
      boost::asio::post(thread_, std::move(serve));
    };
    return boost::asio::async_initiate<const boost::asio::use_awaitable_t<>, void(Result)>(
        std::move(initiate), boost::asio::use_awaitable, std::move(body));
  }

  Connections db_;
  boost::asio::thread_pool thread_{1};
};

}  // namespace sandkeep
