#include "agent/ctl/commands.h"

#include <google/protobuf/util/json_util.h>

#include <utility>

#include "agent/ctl/render.h"
#include "common/limits.h"
#include "common/status_macros.h"
#include "common/strings.h"

namespace sandkeep {

namespace v1 = agent::v1;

const char kCtlUsage[] =
    "usage: sandkeepctl [--agent_socket=PATH] [--json] COMMAND\n"
    "\n"
    "  info                       versions, limits, capacity, what this host can't do\n"
    "  ls                         every sandbox, most recently used first\n"
    "  rm [--files] PRINCIPAL LABEL\n"
    "                             ends a sandbox and removes its container; its files stay\n"
    "                             without --files\n"
    "  freeze PRINCIPAL LABEL     its processes wait, as when it is idle\n"
    "  thaw PRINCIPAL LABEL       they go on\n"
    "  gc [--dry-run]             removes what nobody needs (GC_DELETE=1), and says why\n";

namespace {

Async<std::string> Refuse() { co_return absl::InvalidArgumentError(kCtlUsage); }

template <typename Message>
absl::StatusOr<std::string> Show(const CtlOptions& options, const Message& message,
                                 const std::string& text) {
  if (!options.json) return text;
  google::protobuf::util::JsonPrintOptions print;
  print.always_print_primitive_fields = true;
  print.preserve_proto_field_names = true;
  std::string json;
  const auto printed = google::protobuf::util::MessageToJsonString(message, &json, print);
  if (!printed.ok()) return absl::InternalError("can't write this as JSON");
  return json + "\n";
}

Async<std::string> Info(AgentClient& client, CtlOptions options) {
  auto asking = client.GetInfo({});
  CO_ASSIGN_OR_RETURN(const v1::Info info, co_await std::move(asking));
  co_return Show(options, info, RenderInfo(info));
}

Async<std::string> List(AgentClient& client, const Clock& clock, CtlOptions options) {
  v1::ListSandboxesRequest request;
  request.set_limit(kMaxListedSandboxes);
  auto listing = client.ListSandboxes(std::move(request));
  CO_ASSIGN_OR_RETURN(const v1::ListSandboxesResponse response, co_await std::move(listing));
  co_return Show(options, response, RenderSandboxes(response, clock.Now()));
}

Async<std::string> Remove(AgentClient& client, CtlOptions options, std::string principal,
                          std::string label) {
  v1::RemoveSandboxRequest request;
  request.mutable_sandbox()->set_principal(std::move(principal));
  request.mutable_sandbox()->set_label(std::move(label));
  request.set_remove_volume(options.files);
  auto removing = client.RemoveSandbox(std::move(request));
  CO_ASSIGN_OR_RETURN(const v1::RemoveSandboxResponse response, co_await std::move(removing));
  co_return Show(options, response, RenderRemoved(response));
}

template <typename Request>
Async<std::string> Change(AgentClient& client, CtlOptions options, std::string principal,
                          std::string label, Async<v1::Sandbox> (AgentClient::*change)(Request)) {
  Request request;
  request.mutable_sandbox()->set_principal(std::move(principal));
  request.mutable_sandbox()->set_label(std::move(label));
  auto changing = (client.*change)(std::move(request));
  CO_ASSIGN_OR_RETURN(const v1::Sandbox sandbox, co_await std::move(changing));
  co_return Show(options, sandbox, RenderState(sandbox));
}

Async<std::string> CollectGarbage(AgentClient& client, CtlOptions options) {
  v1::CollectGarbageRequest request;
  request.set_dry_run(options.dry_run);
  auto collecting = client.CollectGarbage(std::move(request));
  CO_ASSIGN_OR_RETURN(const v1::CollectGarbageResponse response, co_await std::move(collecting));
  co_return Show(options, response, RenderGarbage(response));
}

}  // namespace

Async<std::string> RunCtlCommand(AgentClient& client, const Clock& clock, CtlOptions options,
                                 std::vector<std::string> words) {
  if (words.empty()) return Refuse();
  const std::string& command = words.front();
  if (options.dry_run && command != "gc") return Refuse();
  if (options.files && command != "rm") return Refuse();
  if (command == "info" && words.size() == 1) return Info(client, options);
  if (command == "ls" && words.size() == 1) return List(client, clock, options);
  if (command == "gc" && words.size() == 1) return CollectGarbage(client, options);
  if (command == "rm" && words.size() == 3) {
    return Remove(client, options, std::move(words[1]), std::move(words[2]));
  }
  if (command == "freeze" && words.size() == 3) {
    return Change(client, options, std::move(words[1]), std::move(words[2]), &AgentClient::Freeze);
  }
  if (command == "thaw" && words.size() == 3) {
    return Change(client, options, std::move(words[1]), std::move(words[2]), &AgentClient::Thaw);
  }
  return Refuse();
}

}  // namespace sandkeep
