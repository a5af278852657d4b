#include "agent/file_process/search.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "common/limits.h"
#include "common/status_macros.h"
#include "common/strings.h"

namespace sandkeep {
namespace {

// Of all paths together: names of ordinary length, as many as are looked at.
constexpr std::size_t kMaxWalkedBytes = kMaxWalkedEntries * kMaxNameBytes;

class Search {
 public:
  explicit Search(FileQuery query) : query_(std::move(query)) {
    folders_.push_back({query_.path, query_.pattern.Start()});
  }

  bool done() const { return folders_.empty(); }
  // Whose entries are to be added next.
  RelPath TakeFolder() {
    Folder next = std::move(folders_.front());
    folders_.pop_front();
    prefix_ = next.path.bytes().empty() ? 0 : next.path.bytes().size() + 1;
    state_ = next.state;
    return std::move(next.path);
  }

  void Add(std::vector<FileEntry> entries) {
    truncated_ = truncated_ || entries.size() >= kMaxListEntries;
    for (FileEntry& entry : entries) {
      if (seen_ == kMaxWalkedEntries || bytes_ > kMaxWalkedBytes) {
        truncated_ = true;
        folders_.clear();
        return;
      }
      ++seen_;
      Look(std::move(entry));
    }
  }

  FileListing Result() {
    const auto by_name = [](const FileEntry& a, const FileEntry& b) { return a.path < b.path; };
    const auto by_time = [](const FileEntry& a, const FileEntry& b) {
      return a.modified != b.modified ? a.modified > b.modified : a.path < b.path;
    };
    if (query_.newest_first) {
      std::sort(found_.begin(), found_.end(), by_time);
    } else {
      std::sort(found_.begin(), found_.end(), by_name);
    }
    if (found_.size() > query_.limit) {
      found_.resize(query_.limit);
      truncated_ = true;
    }
    return {std::move(found_), truncated_};
  }

 private:
  struct Folder {
    RelPath path;
    Glob::State state;
  };

  void Look(FileEntry entry) {
    const std::string_view name = std::string_view(entry.path).substr(prefix_);
    const Glob::State state = query_.pattern.Step(state_, name);
    if (entry.directory() && query_.pattern.LeadsOn(state)) LookInto(entry.path, state);
    if (!query_.pattern.IsMatch(state)) return;
    // Whatever it is listed after: no page is the last while this one is missing.
    const bool too_long = entry.path.size() >= kMaxPathBytes;
    truncated_ = truncated_ || too_long;
    if (too_long || entry.path <= query_.after) return;
    bytes_ += entry.path.size();
    found_.push_back(std::move(entry));
  }

  // A tree may be deeper than any path is long: what is in there has no name to be asked for by.
  void LookInto(const std::string& folder, const Glob::State& state) {
    absl::StatusOr<RelPath> path = RelPath::Parse(folder);
    truncated_ = truncated_ || !path.ok();
    if (!path.ok()) return;
    bytes_ += folder.size();
    folders_.push_back({*std::move(path), state});
  }

  const FileQuery query_;
  // Of the folder whose entries come: how much of their paths is its own, and how far the pattern
  // has come in it.
  std::size_t prefix_ = 0;
  Glob::State state_;
  std::deque<Folder> folders_;
  std::vector<FileEntry> found_;
  int seen_ = 0;
  std::size_t bytes_ = 0;
  bool truncated_ = false;
};

}  // namespace

Async<FileListing> SearchFiles(FileProcess& files, EngineName volume, FileQuery query) {
  Search search(std::move(query));
  for (bool first = true; !search.done(); first = false) {
    auto listing = files.List(volume, search.TakeFolder(), kMaxListEntries);
    absl::StatusOr<std::vector<FileEntry>> entries = co_await std::move(listing);
    if (!entries.ok() && (first || absl::IsUnavailable(entries.status()))) {
      co_return entries.status();
    }
    if (entries.ok()) search.Add(*std::move(entries));
  }
  co_return search.Result();
}

}  // namespace sandkeep
