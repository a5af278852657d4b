// Whether all of a folder gets into an archive: what nobody can list to its end can't, be it for
// its many entries (kMaxWalkedEntries, kMaxListEntries in one folder) or for a path too long to ask
// for. Any thread.
#pragma once

#include <string>
#include <string_view>

#include "agent/client/agent_client.h"
#include "common/async.h"

namespace sandkeep {

Async<bool> CanBeArchived(AgentClient& agent, agent::v1::SandboxRef sandbox, std::string folder);

// Why not, and what to do instead. For a model and for a person.
std::string NoArchiveWords();

}  // namespace sandkeep
