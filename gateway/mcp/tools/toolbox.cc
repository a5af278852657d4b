#include "gateway/mcp/tools/toolbox.h"

#include <iterator>
#include <memory>
#include <utility>

#include "gateway/mcp/tools/execute.h"
#include "gateway/mcp/tools/file_tools.h"
#include "gateway/mcp/tools/one_sandbox.h"
#include "gateway/mcp/tools/read_output.h"
#include "gateway/mcp/tools/remove_sandbox.h"
#include "gateway/mcp/tools/run_command.h"
#include "gateway/mcp/tools/sandbox_info.h"
#include "gateway/mcp/tools/send_input.h"
#include "gateway/mcp/tools/stop_command.h"
#include "gateway/mcp/tools/wait_command.h"

namespace sandkeep::mcp {
namespace {

namespace json = boost::json;

Tool* Find(const Tools& tools, std::string_view name) {
  for (const std::unique_ptr<Tool>& tool : tools) {
    if (tool->name() == name) return tool.get();
  }
  return nullptr;
}

bool NamesSandbox(const json::object& params) {
  const json::value* arguments = params.if_contains("arguments");
  return arguments != nullptr && arguments->is_object() &&
         arguments->get_object().contains("sandbox");
}

}  // namespace

Toolbox::Toolbox(const JobServices& services, Tools more) : host_(services.host) {
  labelled_.push_back(std::make_unique<RunCommand>(services));
  labelled_.push_back(std::make_unique<WaitCommand>(services));
  labelled_.push_back(std::make_unique<ReadOutput>(services));
  labelled_.push_back(std::make_unique<SendInput>(services));
  labelled_.push_back(std::make_unique<StopCommand>(services));
  AddFileTools(services.agent, services.links, services.settings, &labelled_);
  labelled_.push_back(std::make_unique<SandboxInfo>(services.agent, services.clock, services.host,
                                                    services.settings));
  labelled_.push_back(std::make_unique<RemoveSandbox>(services.agent));
  labelled_.insert(labelled_.end(), std::make_move_iterator(more.begin()),
                   std::make_move_iterator(more.end()));
  AddUnlabelled(services);
}

// The same, but for the two that have names of their own there.
void Toolbox::AddUnlabelled(const JobServices& services) {
  unlabelled_.push_back(std::make_unique<Execute>(services));
  for (const std::unique_ptr<Tool>& tool : labelled_) {
    if (tool->name() == "run_command") continue;
    const bool presents = tool->name() == "present_file";
    unlabelled_.push_back(std::make_unique<OneSandbox>(*tool, presents ? "share_file" : ""));
  }
}

const Tools& Toolbox::Of(const HostInfo& host) const {
  return IsPersistent(host.get()) ? unlabelled_ : labelled_;
}

boost::asio::awaitable<Tool*> Toolbox::Named(std::string_view name, const json::object& params) {
  if (const HostInfo host = host_.Last()) co_return Find(Of(host), name);
  Tool* labelled = Find(labelled_, name);
  Tool* unlabelled = Find(unlabelled_, name);
  if (labelled == nullptr) co_return unlabelled;
  if (unlabelled == nullptr || NamesSandbox(params)) co_return labelled;
  const HostInfo host = co_await host_.Known();
  co_return IsPersistent(host.get()) ? unlabelled : labelled;
}

}  // namespace sandkeep::mcp
