#include "gateway/downloads/folder_listing.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_join.h"
#include "common/limits.h"
#include "common/strings.h"
#include "gateway/downloads/archive_room.h"
#include "gateway/mcp/tools/words.h"

namespace sandkeep {
namespace {

namespace v1 = agent::v1;

std::string_view NameIn(const v1::FileInfo& info) {
  const std::string_view path = info.path();
  return path.substr(path.rfind('/') + 1);
}

// Letters as people order them, as far as that is ASCII's; then by the byte.
void SortByName(std::vector<v1::FileInfo>* entries) {
  std::vector<std::pair<std::string, v1::FileInfo*>> order;
  order.reserve(entries->size());
  for (v1::FileInfo& info : *entries) {
    order.emplace_back(absl::AsciiStrToLower(info.path()), &info);
  }
  std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first < b.first : a.second->path() < b.second->path();
  });
  std::vector<v1::FileInfo> sorted;
  sorted.reserve(entries->size());
  for (const auto& [name, info] : order) sorted.push_back(std::move(*info));
  entries->swap(sorted);
}

std::string CountInWords(std::int64_t count, std::string_view one, std::string_view many) {
  return StrCat(count, " ", count == 1 ? one : many);
}

FolderEntryView EntryOf(const v1::FileInfo& info, mcp::ArchiveFormat format,
                        const PageLinks& links) {
  FolderEntryView entry{.name = std::string(NameIn(info)),
                        .href = {},
                        .folder = info.type() == v1::FileInfo::DIRECTORY,
                        .size = {},
                        .changed = absl::FromUnixMillis(info.modified_ms())};
  std::optional<std::string> link;
  if (entry.folder) {
    link = links.ToFolder(info.path(), format);
    entry.size = link.has_value() ? "Folder" : "Folder, name too long for a link";
  } else if (info.type() == v1::FileInfo::REGULAR) {
    link = links.ToFile(info.path());
    entry.size = link.has_value() ? mcp::SizeInWords(info.size()) : "Name too long for a link";
  } else {
    // A symbolic link leads where the sandbox says, and the others are no files.
    entry.size = "Link or device, not handed out";
  }
  entry.href = std::move(link).value_or("");
  return entry;
}

}  // namespace

void FolderListing::Add(v1::FileInfo info) {
  const bool folder = info.type() == v1::FileInfo::DIRECTORY;
  const bool file = info.type() == v1::FileInfo::REGULAR;
  ++(folder ? folder_count_ : file ? file_count_ : other_count_);
  // A sparse file says what size it likes.
  if (file) bytes_ += std::min(info.size(), std::numeric_limits<std::int64_t>::max() - bytes_);
  std::vector<v1::FileInfo>& kept = folder ? folders_ : files_;
  if (kept.size() < static_cast<std::size_t>(kMaxListedFiles)) kept.push_back(std::move(info));
}

bool FolderListing::IsEndless() const { return count() > kMaxArchiveEntries; }

std::string FolderListing::Summary() const {
  std::vector<std::string> parts;
  if (folder_count_ > 0) parts.push_back(CountInWords(folder_count_, "folder", "folders"));
  if (file_count_ > 0) {
    parts.push_back(
        StrCat(CountInWords(file_count_, "file", "files"), " of ", mcp::SizeInWords(bytes_)));
  }
  if (other_count_ > 0) {
    parts.push_back(CountInWords(other_count_, "link or device", "links or devices"));
  }
  if (parts.empty()) return all_ ? "This folder is empty." : "";
  return StrCat(all_ ? "" : "More than ", absl::StrJoin(parts, ", "));
}

std::string FolderListing::LeftOut(std::size_t shown) const {
  const std::int64_t rest = count() - static_cast<std::int64_t>(shown);
  if (rest == 0 && all_) return "";
  if (rest == 0) return "Not all is shown: some paths are too long for a link.";
  return StrCat("Not shown: ", all_ ? "" : "more than ", rest, rest == 1 ? " other." : " others.");
}

FolderPageView FolderListing::View(std::string_view path, mcp::ArchiveFormat format,
                                   const PageLinks& links) && {
  SortByName(&folders_);
  SortByName(&files_);
  FolderPageView view;
  view.name = path.empty() ? "workspace" : std::string(path.substr(path.rfind('/') + 1));
  std::size_t bytes = 0;
  for (const std::vector<v1::FileInfo>* kept : {&folders_, &files_}) {
    for (const v1::FileInfo& info : *kept) {
      if (view.entries.size() == static_cast<std::size_t>(kMaxListedFiles)) break;
      FolderEntryView entry = EntryOf(info, format, links);
      bytes += entry.href.size() + entry.name.size();
      if (bytes > kMaxFolderPageBytes) break;
      view.entries.push_back(std::move(entry));
    }
  }
  view.summary = Summary();
  view.left_out = LeftOut(view.entries.size());
  if (!all_)
    StrAppend(&view.left_out, " There is no archive of this folder: ", NoArchiveWords(), ".");
  const mcp::ArchiveFormat other =
      format == mcp::ArchiveFormat::kTar ? mcp::ArchiveFormat::kZip : mcp::ArchiveFormat::kTar;
  view.ending = all_ ? EndingOf(format) : "";
  view.other_href = links.ToFolder(path, other).value_or("");
  view.other_ending = EndingOf(other);
  view.until = absl::FromUnixSeconds(links.expiry());
  return view;
}

}  // namespace sandkeep
