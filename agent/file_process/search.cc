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
    folders_.push_back({query_.path.bytes(), query_.pattern.Start()});
  }

  bool done() const { return folders_.empty(); }
  // Whose entries are to be added next.
  RelPath TakeFolder() {
    folder_ = std::move(folders_.front());
    folders_.pop_front();
    return *RelPath::Parse(folder_.path);
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
    std::string path;
    Glob::State state;
  };

  void Look(FileEntry entry) {
    const std::string_view name =
        std::string_view(entry.path).substr(folder_.path.empty() ? 0 : folder_.path.size() + 1);
    const Glob::State state = query_.pattern.Step(folder_.state, name);
    if (entry.directory() && query_.pattern.LeadsOn(state)) {
      bytes_ += entry.path.size();
      folders_.push_back({entry.path, state});
    }
    if (!query_.pattern.IsMatch(state) || entry.path <= query_.after) return;
    bytes_ += entry.path.size();
    found_.push_back(std::move(entry));
  }

  const FileQuery query_;
  Folder folder_;
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
