#include "gateway/downloads/archive_room.h"

#include <utility>

#include "common/limits.h"
#include "common/status_macros.h"
#include "common/strings.h"

namespace sandkeep {

static_assert(kMaxArchiveEntries == kMaxWalkedEntries, "what a search looks at is asked for all");

// A search of everything, for what comes after all names: it finds nothing, and there is more all
// the same only if it came to no end.
Async<bool> CanBeArchived(AgentClient& agent, agent::v1::SandboxRef sandbox, std::string folder) {
  agent::v1::ListFilesRequest request;
  *request.mutable_sandbox() = std::move(sandbox);
  request.set_path(std::move(folder));
  request.set_pattern(".**");
  request.set_limit(1);
  request.set_after(std::string(kMaxPathBytes, '\xFF'));
  CO_ASSIGN_OR_RETURN(const auto listed, co_await agent.ListFiles(request));
  co_return !listed.truncated();
}

std::string NoArchiveWords() {
  return StrCat("it holds more than an archive can (", kMaxArchiveEntries,
                " files and folders, fewer than ", kMaxListEntries,
                " in one folder, no path of over ", kMaxPathBytes - 1,
                " bytes): pack it in the sandbox, with tar for example, and present that file");
}

}  // namespace sandkeep
