// Tools that go on as tasks, and the tasks themselves: in this process's memory, told by the clock.
#include <algorithm>
#include <boost/json/serialize.hpp>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "absl/time/clock.h"
#include "common/pause.h"
#include "common/status_macros.h"
#include "common/strings.h"
#include "gateway/mcp/task_source.h"
#include "tests/conformance/fixtures.h"
#include "tests/conformance/questions.h"

namespace sandkeep::mcp {
namespace {

namespace json = boost::json;

constexpr std::string_view kPrefix = "fixture-";
constexpr absl::Duration kSoon = absl::Milliseconds(300);

// What becomes of a task when its time is over and nothing is asked any more.
struct Plan {
  absl::Duration takes;
  ToolResult result;
  bool fails = false;
  json::object requests = {};
};

class FixtureTasks : public TaskSource {
 public:
  Task Add(Plan plan) {
    const std::lock_guard lock(mutex_);
    Entry entry{.plan = std::move(plan), .task = {}, .cancelled = false};
    entry.task.id = StrCat(kPrefix, ++last_);
    entry.task.created = entry.task.updated = absl::Now();
    entry.task.ttl = std::chrono::hours(1);
    Task task = entry.task;
    entries_.emplace(task.id, std::move(entry));
    return task;
  }

  bool Knows(std::string_view id) const override { return id.substr(0, kPrefix.size()) == kPrefix; }

  Async<TaskDetails> Get(CallContext& /*context*/, std::string id) override {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(id);
    if (found == entries_.end()) co_return absl::NotFoundError("no such task");
    co_return Details(found->second);
  }

  Async<void> Update(CallContext& /*context*/, std::string id, json::object answers) override {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(id);
    if (found == entries_.end()) co_return absl::NotFoundError("no such task");
    for (const auto& answer : answers) found->second.plan.requests.erase(answer.key());
    co_return absl::OkStatus();
  }

  Async<void> Cancel(CallContext& /*context*/, std::string id) override {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(id);
    if (found == entries_.end()) co_return absl::NotFoundError("no such task");
    Entry& entry = found->second;
    entry.cancelled = entry.cancelled || !Over(entry);
    co_return absl::OkStatus();
  }

 private:
  struct Entry {
    Plan plan;
    Task task;
    bool cancelled = false;
  };

  static bool Over(const Entry& entry) {
    return entry.plan.requests.empty() && absl::Now() >= entry.task.created + entry.plan.takes;
  }

  static TaskDetails Details(const Entry& entry) {
    TaskDetails details{.task = entry.task, .result = {}, .error = {}, .requests = {}};
    details.task.updated = absl::Now();
    if (entry.cancelled) {
      details.task.status = TaskStatus::kCancelled;
    } else if (!entry.plan.requests.empty()) {
      details.task.status = TaskStatus::kInputRequired;
      details.requests = entry.plan.requests;
    } else if (Over(entry) && entry.plan.fails) {
      details.task.status = TaskStatus::kFailed;
      details.error.message = "It failed as it was meant to.";
    } else if (Over(entry)) {
      details.task.status = TaskStatus::kCompleted;
      details.result = entry.plan.result;
    }
    return details;
  }

  std::mutex mutex_;
  std::map<std::string, Entry, std::less<>> entries_;
  int last_ = 0;
};

ToolDescription Described(std::string_view name) {
  ToolDescription description;
  description.title = std::string(name);
  description.text = "For the conformance suite: goes on as a task.";
  description.read_only = true;
  return description;
}

class Greet : public Tool {
 public:
  std::string_view name() const override { return "greet"; }
  ToolDescription Describe(const agent::v1::Info* /*host*/) const override {
    ToolDescription description = Described(name());
    description.properties["name"] = Property("string", "Who is greeted.");
    return description;
  }
  Async<ToolResult> Call(CallContext& /*context*/, Arguments arguments) override {
    CO_ASSIGN_OR_RETURN(const std::optional<std::string> who, arguments.Text("name"));
    co_return ToolResult::Text(StrCat("Hello, ", who.value_or("world"), "!"));
  }
};

class SlowCompute : public Tool {
 public:
  explicit SlowCompute(FixtureTasks& tasks) : tasks_(tasks) {}
  std::string_view name() const override { return "slow_compute"; }
  ToolDescription Describe(const agent::v1::Info* /*host*/) const override {
    ToolDescription description = Described(name());
    description.properties["seconds"] = IntegerProperty(0, "How long it takes.");
    description.properties["label"] = Property("string", "What it is called.");
    return description;
  }
  Async<ToolResult> Call(CallContext& context, Arguments arguments) override {
    CO_ASSIGN_OR_RETURN(const std::optional<std::int64_t> given, arguments.Integer("seconds"));
    const std::int64_t seconds = std::clamp<std::int64_t>(given.value_or(0), 0, 60);
    ToolResult result = ToolResult::Text(StrCat("Computed for ", seconds, " s."));
    if (!DeclaresTasks(context.meta)) co_await Pause(std::chrono::seconds(seconds));
    if (seconds == 0 || !DeclaresTasks(context.meta)) co_return result;
    ToolResult handle;
    handle.task = tasks_.Add({.takes = absl::Seconds(seconds), .result = std::move(result)});
    co_return handle;
  }

 private:
  FixtureTasks& tasks_;
};

// What comes of it is known from the start.
class PlannedTool : public Tool {
 public:
  PlannedTool(std::string_view name, FixtureTasks& tasks, Plan plan)
      : name_(name), tasks_(tasks), plan_(std::move(plan)) {}
  std::string_view name() const override { return name_; }
  ToolDescription Describe(const agent::v1::Info* /*host*/) const override {
    ToolDescription description = Described(name_);
    description.properties["filename"] = Property("string", "Not looked at.");
    return description;
  }
  Async<ToolResult> Call(CallContext& context, Arguments /*arguments*/) override {
    if (!DeclaresTasks(context.meta)) co_return plan_.result;
    ToolResult handle;
    handle.task = tasks_.Add(plan_);
    co_return handle;
  }

 private:
  const std::string_view name_;
  FixtureTasks& tasks_;
  const Plan plan_;
};

// Asks first, and goes on as a task with the answer.
class AskingTaskTool : public Tool {
 public:
  explicit AskingTaskTool(FixtureTasks& tasks) : tasks_(tasks) {}
  std::string_view name() const override { return "test_tool_with_task"; }
  ToolDescription Describe(const agent::v1::Info* /*host*/) const override {
    return Described(name());
  }
  Async<ToolResult> Call(CallContext& context, Arguments /*arguments*/) override {
    const json::value* who = FieldOf(context, "user_name", "name");
    ToolResult result;
    if (who == nullptr) {
      result.questions.emplace();
      result.questions->requests["user_name"] = AskPerson("Who are you?", "name");
      co_return result;
    }
    ToolResult done = ToolResult::Text(StrCat("Done for ", json::serialize(*who), "."));
    result.task = tasks_.Add({.takes = kSoon, .result = std::move(done)});
    co_return result;
  }

 private:
  FixtureTasks& tasks_;
};

}  // namespace

void AddTaskTools(Tools* tools, TaskSources* sources) {
  auto made = std::make_unique<FixtureTasks>();
  FixtureTasks& tasks = *made;
  sources->push_back(std::move(made));
  tools->push_back(std::make_unique<Greet>());
  tools->push_back(std::make_unique<SlowCompute>(tasks));

  ToolResult failed = ToolResult::Text("The job failed.");
  failed.is_error = true;
  tools->push_back(
      std::make_unique<PlannedTool>("failing_job", tasks, Plan{.takes = kSoon, .result = failed}));
  tools->push_back(std::make_unique<PlannedTool>(
      "protocol_error_job", tasks, Plan{.takes = kSoon, .result = failed, .fails = true}));

  Plan one{.takes = kSoon, .result = ToolResult::Text("Deleted.")};
  one.requests["confirm"] = AskPerson("Delete it?", "confirm", "boolean");
  Plan two = one;
  two.requests["name"] = AskPerson("And its name?", "name");
  tools->push_back(std::make_unique<PlannedTool>("confirm_delete", tasks, std::move(one)));
  tools->push_back(std::make_unique<PlannedTool>("multi_input", tasks, std::move(two)));
  tools->push_back(std::make_unique<AskingTaskTool>(tasks));
}

}  // namespace sandkeep::mcp
