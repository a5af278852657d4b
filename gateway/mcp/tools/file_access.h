// What the tools that deal with single files share: which file a call means, what is said when it
// isn't there, and its bytes in and out. Any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "agent/client/agent_client.h"
#include "common/async.h"
#include "common/rel_path.h"
#include "gateway/mcp/tools/tool.h"

namespace sandkeep::mcp {

struct FileArgument {
  agent::v1::SandboxRef sandbox;
  RelPath path;
};

// What `path` may mean: a file; that or any folder, the workspace too; the same, and the workspace
// where it is left out.
enum class PathKind { kFile, kFileOrFolder, kFolderOrNone };

// The arguments `sandbox` and `path`.
Async<FileArgument> RequireFile(AgentClient& agent, CallContext& context,
                                const Arguments& arguments, PathKind kind);

// The description of `path` in a schema.
inline constexpr std::string_view kPathDescription =
    "The file's path, relative to /workspace or below it.";

// A regular file or a folder, by its own path: one beside it that a person reads alike is found
// too. NotFound: with the nearest names.
Async<agent::v1::FileInfo> FindFile(AgentClient& agent, agent::v1::SandboxRef sandbox,
                                    RelPath path);

// Its first bytes, `most` of them or all, as `info` has it. Aborted: it changed meanwhile.
Async<std::string> ReadStart(AgentClient& agent, agent::v1::SandboxRef sandbox,
                             agent::v1::FileInfo info, std::int64_t most);
// The whole of it.
Async<std::string> ReadWhole(AgentClient& agent, agent::v1::SandboxRef sandbox,
                             agent::v1::FileInfo info);

// `header` lacks only the size.
Async<agent::v1::WriteFileResponse> WriteWhole(AgentClient& agent,
                                               agent::v1::WriteFileHeader header,
                                               std::string content);

// `[sandbox LABEL] [new]` and the line's end.
std::string FactsLine(const CallContext& context, bool new_sandbox);

// As models write it, for a line of text.
std::string ShownPath(std::string_view path);

}  // namespace sandkeep::mcp
