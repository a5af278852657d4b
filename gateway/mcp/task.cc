#include "gateway/mcp/task.h"

#include <array>
#include <string_view>

#include "common/limits.h"
#include "common/strings.h"
#include "common/utf8.h"
#include "gateway/mcp/era.h"
#include "gateway/mcp/strict_json.h"

namespace sandkeep::mcp {
namespace {

std::string_view WordOf(TaskStatus status) {
  constexpr std::array<std::string_view, 5> kWords = {"working", "input_required", "completed",
                                                      "failed", "cancelled"};
  return kWords.at(static_cast<std::size_t>(status));
}

std::string Iso8601(absl::Time time) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", time, absl::UTCTimeZone());
}

}  // namespace

std::string TaskMembers(const Task& task) {
  std::string members = R"("taskId":)";
  AppendJsonString(&members, task.id);
  StrAppend(&members, R"(,"status":")", WordOf(task.status), R"(","createdAt":")",
            Iso8601(task.created), R"(","lastUpdatedAt":")", Iso8601(task.updated),
            R"(","ttlMs":)");
  if (task.ttl.has_value()) {
    StrAppend(&members, task.ttl->count());
  } else {
    members += "null";
  }
  StrAppend(&members, R"(,"pollIntervalMs":)", kTaskPollInterval.count());
  if (task.message.empty()) return members;
  members += R"(,"statusMessage":)";
  AppendJsonString(&members, ToValidUtf8(task.message));
  return members;
}

bool DeclaresTasks(const boost::json::object& meta) {
  const boost::json::value* extensions = DeclaredIn(meta).if_contains("extensions");
  if (extensions == nullptr || !extensions->is_object()) return false;
  return extensions->get_object().contains(boost::json::string_view(kTasksExtension));
}

}  // namespace sandkeep::mcp
