#include "gateway/mcp/task_source.h"

#include <boost/json/serialize.hpp>
#include <utility>

#include "common/limits.h"
#include "common/strings.h"

namespace sandkeep::mcp {
namespace {

namespace json = boost::json;
using boost::asio::awaitable;

RpcError NeedsExtension() {
  json::object extensions;
  extensions[json::string_view(kTasksExtension)] = json::object();
  json::object needed;
  needed["extensions"] = std::move(extensions);
  RpcError error{.code = kMissingClientCapability,
                 .message = StrCat("This method is for clients that declare the extension ",
                                   kTasksExtension, "."),
                 .data = {}};
  error.data["requiredCapabilities"] = std::move(needed);
  return error;
}

RpcError NoSuchTask() { return BadParams("There is no such task."); }

RpcError TaskError(const absl::Status& status) {
  return absl::IsNotFound(status) ? NoSuchTask() : ErrorOf(status);
}

std::string ErrorMember(const RpcError& error) {
  json::object shown;
  shown["code"] = error.code;
  shown["message"] = error.message;
  if (!error.data.empty()) shown["data"] = error.data;
  return json::serialize(shown);
}

std::string DetailMembers(const TaskDetails& details) {
  std::string members = TaskMembers(details.task);
  switch (details.task.status) {
    case TaskStatus::kCompleted:
      StrAppend(&members, R"(,"result":{)", ContentMembers(details.result, /*with_links=*/true),
                "}");
      break;
    case TaskStatus::kFailed:
      StrAppend(&members, R"(,"error":)", ErrorMember(details.error));
      break;
    case TaskStatus::kInputRequired:
      StrAppend(&members, R"(,"inputRequests":)", json::serialize(details.requests));
      break;
    case TaskStatus::kWorking:
    case TaskStatus::kCancelled:
      break;
  }
  return members;
}

// What the three have in common: who may call them, and whose source is asked.
class TaskMethod : public Method {
 public:
  TaskMethod(std::string_view name, const TaskSources& sources) : name_(name), sources_(sources) {}

  std::string_view name() const override { return name_; }
  bool ServedIn(Era era) const override { return era == Era::kModern; }

  awaitable<MethodAnswer> Call(CallContext& context, json::object params) override {
    if (!DeclaresTasks(context.meta)) co_return NeedsExtension();
    const json::string* id = TextIn(params, "taskId");
    if (id == nullptr) co_return BadParams("params.taskId must be a string.");
    TaskSource* source = SourceOf(*id);
    if (source == nullptr) co_return NoSuchTask();
    std::string name(*id);
    auto answer = Do(*source, context, std::move(name), std::move(params));
    co_return co_await std::move(answer);
  }

 private:
  virtual awaitable<MethodAnswer> Do(TaskSource& source, CallContext& context, std::string id,
                                     json::object params) = 0;

  TaskSource* SourceOf(std::string_view id) const {
    if (id.size() > kMaxTaskIdBytes) return nullptr;
    for (const std::unique_ptr<TaskSource>& source : sources_) {
      if (source->Knows(id)) return source.get();
    }
    return nullptr;
  }

  const std::string_view name_;
  const TaskSources& sources_;
};

class GetTask : public TaskMethod {
 public:
  explicit GetTask(const TaskSources& sources) : TaskMethod("tasks/get", sources) {}

 private:
  awaitable<MethodAnswer> Do(TaskSource& source, CallContext& context, std::string id,
                             json::object /*params*/) override {
    auto asked = source.Get(context, std::move(id));
    const absl::StatusOr<TaskDetails> details = co_await std::move(asked);
    if (!details.ok()) co_return TaskError(details.status());
    MethodResult result;
    result.members = DetailMembers(*details);
    co_return result;
  }
};

class UpdateTask : public TaskMethod {
 public:
  explicit UpdateTask(const TaskSources& sources) : TaskMethod("tasks/update", sources) {}

 private:
  awaitable<MethodAnswer> Do(TaskSource& source, CallContext& context, std::string id,
                             json::object params) override {
    json::value* given = params.if_contains("inputResponses");
    if (given == nullptr || !given->is_object()) {
      co_return BadParams("params.inputResponses must be an object.");
    }
    json::object answers = std::move(given->get_object());
    auto update = source.Update(context, std::move(id), std::move(answers));
    const absl::Status updated = co_await std::move(update);
    if (!updated.ok()) co_return TaskError(updated);
    co_return MethodResult{};
  }
};

class CancelTask : public TaskMethod {
 public:
  explicit CancelTask(const TaskSources& sources) : TaskMethod("tasks/cancel", sources) {}

 private:
  awaitable<MethodAnswer> Do(TaskSource& source, CallContext& context, std::string id,
                             json::object /*params*/) override {
    auto cancel = source.Cancel(context, std::move(id));
    const absl::Status cancelled = co_await std::move(cancel);
    if (!cancelled.ok()) co_return TaskError(cancelled);
    co_return MethodResult{};
  }
};

}  // namespace

void AddTaskMethods(const TaskSources& sources, Methods* methods) {
  methods->push_back(std::make_unique<GetTask>(sources));
  methods->push_back(std::make_unique<UpdateTask>(sources));
  methods->push_back(std::make_unique<CancelTask>(sources));
}

}  // namespace sandkeep::mcp
