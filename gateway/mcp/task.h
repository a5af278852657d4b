// A task of the extension io.modelcontextprotocol/tasks: a call's result that is still to come, as
// its client is told of it. Plain values; any thread.
// Source: the extension's specification, draft of 2026-07 (SEP-2663).
#pragma once

#include <boost/json/object.hpp>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "absl/time/time.h"
#include "common/limits.h"

namespace sandkeep::mcp {

inline constexpr std::string_view kTasksExtension = "io.modelcontextprotocol/tasks";

enum class TaskStatus { kWorking, kInputRequired, kCompleted, kFailed, kCancelled };

struct Task {
  std::string id;  // At most kMaxTaskIdBytes of visible ASCII: headers carry it.
  TaskStatus status = TaskStatus::kWorking;
  std::string message;  // For people; may be empty.
  absl::Time created;
  absl::Time updated;
  // From its creation; nullopt: it is kept for ever.
  std::optional<std::chrono::milliseconds> ttl = std::nullopt;
};

// `"taskId":…,"status":…` and so on as JSON, without the braces around them.
std::string TaskMembers(const Task& task);

// Whether the client that sent this `_meta` can be given a task instead of a result.
bool DeclaresTasks(const boost::json::object& meta);

}  // namespace sandkeep::mcp
