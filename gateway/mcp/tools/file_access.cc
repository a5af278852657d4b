#include "gateway/mcp/tools/file_access.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "common/limits.h"
#include "common/status_macros.h"
#include "common/strings.h"
#include "common/utf8.h"
#include "gateway/mcp/tools/nearest_names.h"
#include "gateway/mcp/tools/sandbox_argument.h"
#include "gateway/mcp/tools/spelling.h"
#include "gateway/mcp/tools/words.h"
#include "gateway/mcp/tools/workspace_path.h"

namespace sandkeep::mcp {
namespace {

namespace v1 = agent::v1;

// What stands beside a file that isn't there.
Async<v1::ListFilesResponse> Neighbours(AgentClient& agent, v1::SandboxRef sandbox, RelPath path) {
  v1::ListFilesRequest request;
  *request.mutable_sandbox() = std::move(sandbox);
  const std::size_t slash = path.bytes().rfind('/');
  if (slash != std::string::npos) request.set_path(path.bytes().substr(0, slash));
  request.set_limit(kMaxSearchedFiles);
  auto beside = co_await agent.ListFiles(request);
  if (!absl::IsNotFound(beside.status()) || request.path().empty()) co_return beside;
  // Its folder isn't there either: the workspace itself.
  request.clear_path();
  co_return co_await agent.ListFiles(std::move(request));
}

std::string OneOf(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string_view before = i == 0 ? "" : i + 1 < names.size() ? ", " : " or ";
    StrAppend(&text, before, OneLine(names[i], kMaxNameBytes));
  }
  return text;
}

absl::Status Missing(const RelPath& path, const absl::StatusOr<v1::ListFilesResponse>& beside) {
  if (absl::IsNotFound(beside.status())) {
    return absl::NotFoundError(
        "This sandbox has no files yet: check the label, or make the file with run_command first.");
  }
  std::vector<std::string> paths;
  if (beside.ok()) {
    for (const v1::FileInfo& file : beside->files()) {
      if (file.type() == v1::FileInfo::REGULAR) paths.push_back(ToValidUtf8(file.path()));
    }
  }
  const std::string there =
      StrCat("There is no file ", OneLine(path.bytes(), kMaxNameBytes), " below /workspace: ");
  const std::vector<std::string> near = NearestNames(path.bytes(), paths, kMaxSuggestedFiles);
  if (near.empty()) {
    return absl::NotFoundError(StrCat(there, "list what there is with list_files."));
  }
  return absl::NotFoundError(StrCat(there, "did you mean ", OneOf(near), "?"));
}

std::optional<std::string> ReadsAlike(const RelPath& path,
                                      const absl::StatusOr<v1::ListFilesResponse>& beside) {
  std::vector<std::string> paths;
  if (!beside.ok()) return std::nullopt;
  for (const v1::FileInfo& file : beside->files()) paths.push_back(file.path());
  return SameSpelling(path.bytes(), paths);
}

Async<v1::FileInfo> Stat(AgentClient& agent, v1::SandboxRef sandbox, std::string path) {
  v1::StatFileRequest request;
  *request.mutable_sandbox() = std::move(sandbox);
  request.set_path(std::move(path));
  return agent.StatFile(std::move(request));
}

}  // namespace

Async<FileArgument> RequireFile(AgentClient& agent, CallContext& context,
                                const Arguments& arguments, PathKind kind) {
  CO_ASSIGN_OR_RETURN(v1::SandboxRef sandbox, co_await RequireSandbox(agent, context, arguments));
  CO_ASSIGN_OR_RETURN(const std::optional<std::string> text, arguments.Text("path"));
  std::string given = text.value_or("");
  if (given.empty() && kind == PathKind::kFolderOrNone) given = ".";
  CO_ASSIGN_OR_RETURN(RelPath path, WorkspacePath(given));
  if (path.empty() && kind == PathKind::kFile) {
    co_return absl::InvalidArgumentError("This is the workspace itself: name a file in it.");
  }
  co_return FileArgument{std::move(sandbox), std::move(path)};
}

Async<v1::FileInfo> FindFile(AgentClient& agent, v1::SandboxRef sandbox, RelPath path) {
  absl::StatusOr<v1::FileInfo> info = co_await Stat(agent, sandbox, path.bytes());
  if (absl::IsNotFound(info.status())) {
    const absl::StatusOr<v1::ListFilesResponse> beside = co_await Neighbours(agent, sandbox, path);
    const std::optional<std::string> alike = ReadsAlike(path, beside);
    if (!alike) co_return Missing(path, beside);
    info = co_await Stat(agent, sandbox, *alike);
  }
  if (!info.ok()) co_return info.status();
  if (info->type() != v1::FileInfo::REGULAR && info->type() != v1::FileInfo::DIRECTORY) {
    co_return absl::InvalidArgumentError(
        "This is no regular file: write what you want to hand over into one.");
  }
  // The agent's own path stays: it may differ in what looks the same.
  if (info->path().empty()) info->set_path(path.bytes());
  co_return info;
}

Async<std::string> ReadStart(AgentClient& agent, v1::SandboxRef sandbox, v1::FileInfo info,
                             std::int64_t most) {
  std::string bytes;
  const std::int64_t size = std::min(info.size(), most);
  if (size == 0) co_return bytes;
  v1::ReadFileRequest request;
  *request.mutable_sandbox() = std::move(sandbox);
  request.set_path(info.path());
  request.set_length(size);
  request.set_if_etag(info.etag());
  const FileChunkStream stream = agent.ReadFile(std::move(request));
  for (;;) {
    auto chunk = co_await stream->Next();
    if (absl::IsDataLoss(chunk.status()) || absl::IsAborted(chunk.status())) {
      co_return absl::AbortedError(
          "The file changed while it was read: try again once nothing writes to it any more.");
    }
    if (!chunk.ok()) co_return chunk.status();
    if (!chunk->has_value()) co_return bytes;
    bytes += (*chunk)->data();
    if (static_cast<std::int64_t>(bytes.size()) > size) {
      co_return absl::InternalError("The agent sent more than was asked.");
    }
  }
}

Async<std::string> ReadWhole(AgentClient& agent, v1::SandboxRef sandbox, v1::FileInfo info) {
  const std::int64_t size = info.size();
  return ReadStart(agent, std::move(sandbox), std::move(info), size);
}

Async<v1::WriteFileResponse> WriteWhole(AgentClient& agent, v1::WriteFileHeader header,
                                        std::string content) {
  header.set_size(static_cast<std::int64_t>(content.size()));
  const std::unique_ptr<FileSink> sink = agent.WriteFile(std::move(header));
  for (std::size_t at = 0; at < content.size(); at += kMaxFileChunk) {
    std::string part = content.substr(at, kMaxFileChunk);
    auto writing = sink->Write(std::move(part));
    const bool taken = co_await std::move(writing);
    if (!taken) break;
  }
  co_return co_await sink->Finish();
}

std::string FactsLine(const CallContext& context, bool new_sandbox) {
  return StrCat("[sandbox ", context.sandbox, new_sandbox ? "] [new]\n" : "]\n");
}

std::string ShownPath(std::string_view path) {
  return path.empty() ? "/workspace" : OneLine(path, kMaxPathBytes);
}

}  // namespace sandkeep::mcp
