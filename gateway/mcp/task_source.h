// Where tasks come from and are asked after: tasks/get, tasks/update and tasks/cancel over every
// kind of task that this server has. Sources keep nothing between calls that a restart could lose,
// and are thread-safe; each looks by itself whose a task is.
#pragma once

#include <boost/json/object.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/async.h"
#include "gateway/mcp/call_context.h"
#include "gateway/mcp/json_rpc.h"
#include "gateway/mcp/method.h"
#include "gateway/mcp/task.h"
#include "gateway/mcp/tool_result.h"

namespace sandkeep::mcp {

// A task and what belongs to its status.
struct TaskDetails {
  Task task;
  ToolResult result;             // When kCompleted.
  RpcError error;                // When kFailed.
  boost::json::object requests;  // When kInputRequired: what is still to be answered, by its name.
};

class TaskSource {
 public:
  virtual ~TaskSource() = default;

  // An id of a form that only this source gives.
  virtual bool Knows(std::string_view id) const = 0;

  // All: NotFound if there is no such task, or if it is somebody else's.
  virtual Async<TaskDetails> Get(CallContext& context, std::string id) = 0;
  // Answers to what the task asked; names that it doesn't wait for are ignored.
  virtual Async<void> Update(CallContext& context, std::string id, boost::json::object answers) = 0;
  // Of a task that has ended nothing happens.
  virtual Async<void> Cancel(CallContext& context, std::string id) = 0;
};

using TaskSources = std::vector<std::unique_ptr<TaskSource>>;

// The three methods, over sources that outlive them.
void AddTaskMethods(const TaskSources& sources, Methods* methods);

}  // namespace sandkeep::mcp
