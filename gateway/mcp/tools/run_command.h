// run_command: one command in a sandbox, to its end or until its caller has waited long enough.
#pragma once

#include <cstdint>
#include <optional>

#include "gateway/mcp/tools/job_run.h"
#include "gateway/mcp/tools/job_services.h"
#include "gateway/mcp/tools/tool.h"

namespace sandkeep::mcp {

class RunCommand : public Tool {
 public:
  // Whether stdout and stderr come in order as one, or each for itself.
  enum class Streams { kMerged, kApart };

  explicit RunCommand(const JobServices& services, Streams streams = Streams::kMerged)
      : services_(services), apart_(streams == Streams::kApart) {}

  std::string_view name() const override { return "run_command"; }
  ToolDescription Describe(const agent::v1::Info* host) const override;
  Async<ToolResult> Call(CallContext& context, Arguments arguments) override;

 private:
  // When a running job will be ended, if that is known. `timeout_ms`: as it was asked for.
  boost::asio::awaitable<std::optional<absl::Time>> EndOf(const JobView& view,
                                                          std::int64_t timeout_ms);

  // It goes on as a task.
  static bool IsForTask(const JobRun& run);

  const JobServices& services_;
  const bool apart_;
};

}  // namespace sandkeep::mcp
