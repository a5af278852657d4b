#include "gateway/mcp/workspace_resources.h"

#include <utility>

#include "absl/strings/numbers.h"
#include "common/limits.h"
#include "common/rel_path.h"
#include "common/status_macros.h"
#include "common/strings.h"
#include "common/utf8.h"
#include "gateway/downloads/percent.h"
#include "gateway/mcp/tools/file_access.h"
#include "gateway/mcp/tools/words.h"

namespace sandkeep::mcp {
namespace {

namespace v1 = agent::v1;

constexpr std::string_view kScheme = "sandkeep://";

std::string UriOf(std::string_view label, std::string_view path) {
  return StrCat(kScheme, PercentEncode(label, /*keep_slash=*/false), "/",
                PercentEncode(path, /*keep_slash=*/true));
}

struct Named {
  v1::SandboxRef sandbox;
  std::string path;
};

// nullopt: no URI of ours.
std::optional<Named> Parse(std::string_view uri, const PrincipalId& principal) {
  if (uri.substr(0, kScheme.size()) != kScheme) return std::nullopt;
  uri.remove_prefix(kScheme.size());
  const std::size_t slash = uri.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  std::optional<std::string> label = PercentDecode(uri.substr(0, slash));
  const std::optional<std::string> path = PercentDecode(uri.substr(slash + 1));
  if (!label.has_value() || !path.has_value() || label->size() > kMaxLabelBytes) {
    return std::nullopt;
  }
  const absl::StatusOr<RelPath> relative = RelPath::Parse(*path);
  if (!relative.ok() || relative->empty() || !IsUtf8(*label)) return std::nullopt;
  Named named;
  named.sandbox.set_principal(principal.text());
  named.sandbox.set_label(*std::move(label));
  named.path = relative->bytes();
  return named;
}

// Of the sandboxes, which comes next.
absl::StatusOr<int> PageOf(const std::string& cursor) {
  int page = 0;
  if (cursor.empty()) return page;
  if (absl::SimpleAtoi(cursor, &page) && page > 0 && page < kMaxListedSandboxes) return page;
  return absl::InvalidArgumentError("There is no such page.");
}

}  // namespace

ResourceInfo WorkspaceResources::InfoOf(const std::string& label, const v1::FileInfo& file) const {
  ResourceInfo info;
  info.uri = UriOf(label, file.path());
  info.name = OneLine(file.path(), kMaxPathBytes);
  info.description = StrCat("In the sandbox ", label);
  info.mime_type = settings_.mime_type_of(info.name);
  info.size = file.size();
  return info;
}

Async<ResourcePage> WorkspaceResources::List(CallContext& context, std::string cursor) {
  CO_ASSIGN_OR_RETURN(const int page, PageOf(cursor));
  v1::ListSandboxesRequest which;
  which.set_principal(context.principal().text());
  which.set_limit(kMaxListedSandboxes);
  CO_ASSIGN_OR_RETURN(const v1::ListSandboxesResponse known,
                      co_await agent_.ListSandboxes(std::move(which)));
  ResourcePage result;
  if (page >= known.sandboxes_size()) co_return result;
  const std::string& label = known.sandboxes(page).label();
  v1::ListFilesRequest files;
  files.mutable_sandbox()->set_principal(context.principal().text());
  files.mutable_sandbox()->set_label(label);
  files.set_pattern("**");
  files.set_limit(kShownFiles);
  files.set_newest_first(true);
  const absl::StatusOr<v1::ListFilesResponse> found = co_await agent_.ListFiles(std::move(files));
  // One that went meanwhile has none.
  if (!found.ok() && !absl::IsNotFound(found.status())) co_return found.status();
  if (found.ok()) {
    for (const v1::FileInfo& file : found->files()) {
      if (file.type() == v1::FileInfo::REGULAR) result.resources.push_back(InfoOf(label, file));
    }
  }
  if (page + 1 < known.sandboxes_size()) result.next_cursor = StrCat(page + 1);
  co_return result;
}

std::vector<ResourceTemplate> WorkspaceResources::Templates() const {
  return {{.uri_template = "sandkeep://{sandbox}/{+path}",
           .name = "A file of a sandbox",
           .title = "",
           .description = "Any file below /workspace, by the sandbox's label and its path",
           .mime_type = ""}};
}

Async<std::optional<std::vector<ResourceContent>>> WorkspaceResources::Read(CallContext& context,
                                                                            std::string uri) {
  using Contents = std::optional<std::vector<ResourceContent>>;
  const std::optional<Named> named = Parse(uri, context.principal());
  if (!named.has_value()) co_return Contents();
  v1::StatFileRequest stat;
  *stat.mutable_sandbox() = named->sandbox;
  stat.set_path(named->path);
  const absl::StatusOr<v1::FileInfo> info = co_await agent_.StatFile(std::move(stat));
  if (absl::IsNotFound(info.status()) || absl::IsInvalidArgument(info.status())) {
    co_return Contents();
  }
  CO_RETURN_IF_ERROR(info.status());
  if (info->type() != v1::FileInfo::REGULAR) co_return Contents();
  if (info->size() > kMaxEditedBytes) {
    co_return absl::InvalidArgumentError(
        StrCat("This file has ", SizeInWords(info->size()),
               ", too many for a resource: take its link from present_file."));
  }
  v1::FileInfo whole = *info;
  whole.set_path(named->path);
  CO_ASSIGN_OR_RETURN(std::string bytes,
                      co_await ReadWhole(agent_, named->sandbox, std::move(whole)));
  ResourceContent content;
  content.uri = std::move(uri);
  content.mime_type = settings_.mime_type_of(named->path);
  content.is_text = bytes.find('\0') == std::string::npos && IsUtf8(bytes);
  content.bytes = std::move(bytes);
  std::vector<ResourceContent> contents;
  contents.push_back(std::move(content));
  co_return Contents(std::move(contents));
}

}  // namespace sandkeep::mcp
