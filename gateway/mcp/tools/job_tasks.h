// Commands as tasks: for a client that knows the tasks extension, a command that takes longer is a
// task, and its result what run_command would have returned. The task is the job itself: it
// outlives the connection, this process and the agent, and so does its id.
//
// An id names the job and its sandbox's label. Whose it is the agent decides: a sandbox is looked
// for among the caller's own. Any thread.
#pragma once

#include <string>
#include <string_view>

#include "gateway/mcp/task_source.h"
#include "gateway/mcp/tools/job_argument.h"
#include "gateway/mcp/tools/job_run.h"
#include "gateway/mcp/tools/job_services.h"

namespace sandkeep::mcp {

class JobTasks : public TaskSource {
 public:
  explicit JobTasks(const JobServices& services) : services_(services) {}

  bool Knows(std::string_view id) const override;
  Async<TaskDetails> Get(CallContext& context, std::string id) override;
  // A command asks nothing of a client.
  Async<void> Update(CallContext& context, std::string id, boost::json::object answers) override;
  Async<void> Cancel(CallContext& context, std::string id) override;

 private:
  // NotFound: the job is unknown, its sandbox is, or it is somebody else's.
  Async<agent::v1::Job> Look(NamedJob job);
  boost::asio::awaitable<std::string> WordsOn(NamedJob job, agent::v1::Job state);
  Async<ToolResult> ResultOf(CallContext& context, NamedJob job);

  const JobServices& services_;
};

// The task that a job becomes whose start `view` has seen. Remembers what its result is to say of
// the sandbox.
boost::asio::awaitable<Task> MakeJobTask(const JobServices& services, const CallContext& context,
                                         const NamedJob& job, const JobView& view);

}  // namespace sandkeep::mcp
