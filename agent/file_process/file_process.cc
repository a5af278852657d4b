#include "agent/file_process/file_process.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <chrono>
#include <utility>

#include "agent/file_process/desk.h"
#include "agent/file_process/pending_file.h"
#include "common/await_on.h"
#include "common/limits.h"
#include "common/opened_file.h"
#include "common/pause.h"
#include "common/status_macros.h"
#include "common/strings.h"

namespace sandkeep {
namespace {

namespace asio = boost::asio;
using files::v1::Entry;
using files::v1::Request;

// What we see ourselves, not what it said.
absl::StatusOr<OpenedFile> CheckOpened(UniqueFd file, const RelPath& path) {
  struct stat info{};
  if (!IsOpenedAs(file, O_RDONLY, S_IFREG) || ::fstat(file.get(), &info) != 0) {
    return absl::DataLossError("not a regular file to read");
  }
  OpenedFile opened;
  opened.entry.path = path.bytes();
  opened.entry.mode = info.st_mode;
  opened.entry.size = info.st_size;
  opened.entry.modified = absl::TimeFromTimespec(info.st_mtim);
  opened.entry.changed_ns = absl::ToUnixNanos(absl::TimeFromTimespec(info.st_ctim));
  opened.entry.device = info.st_dev;
  opened.entry.inode = info.st_ino;
  opened.file = std::move(file);
  return opened;
}

// A name in a folder, not a path.
bool IsName(std::string_view text) {
  return !text.empty() && text != "." && text != ".." && text.size() <= kMaxNameBytes &&
         text.find('/') == std::string_view::npos && text.find('\0') == std::string_view::npos;
}

void AskStat(Request& request, std::uint64_t handle, const std::string& path,
             const FileDesk::Details&) {
  request.mutable_stat()->set_volume(handle);
  request.mutable_stat()->set_path(path);
}

void AskOpen(Request& request, std::uint64_t handle, const std::string& path,
             const FileDesk::Details&) {
  request.mutable_open()->set_volume(handle);
  request.mutable_open()->set_path(path);
}

void AskList(Request& request, std::uint64_t handle, const std::string& path,
             const FileDesk::Details& details) {
  request.mutable_list()->set_volume(handle);
  request.mutable_list()->set_path(path);
  request.mutable_list()->set_limit(static_cast<std::uint32_t>(details.limit));
}

void AskCreate(Request& request, std::uint64_t handle, const std::string& path,
               const FileDesk::Details& details) {
  request.mutable_create()->set_volume(handle);
  request.mutable_create()->set_path(path);
  request.mutable_create()->set_make_parents(details.flag);
  request.mutable_create()->set_part(details.part);
}

void AskDelete(Request& request, std::uint64_t handle, const std::string& path,
               const FileDesk::Details& details) {
  request.mutable_delete_()->set_volume(handle);
  request.mutable_delete_()->set_path(path);
  request.mutable_delete_()->set_recursive(details.flag);
  request.mutable_delete_()->set_max_entries(kMaxDeletedATurn);
  request.mutable_delete_()->set_unchanged_since_ns(details.since_ns);
  request.mutable_delete_()->set_begun(details.begun);
}

void AskMeasure(Request& request, std::uint64_t handle, const std::string& path,
                const FileDesk::Details& details) {
  request.mutable_measure()->set_volume(handle);
  if (details.walk == 0) request.mutable_measure()->set_path(path);
  request.mutable_measure()->set_walk(details.walk);
  request.mutable_measure()->set_give_up(details.flag);
}

// In words, of what was measured to its end.
std::string MissingOf(const files::v1::Measured& measured) {
  if (measured.other_mount()) return "something else is mounted in it";
  if (measured.unread() == 0) return "";
  return StrCat(measured.unread(), " of its entries couldn't be looked at");
}

MeasuredTree ToTree(const files::v1::Measured& measured) {
  return MeasuredTree{.bytes = measured.bytes(),
                      .inodes = measured.inodes(),
                      .newest = absl::FromUnixNanos(measured.newest_ns()),
                      .missing = MissingOf(measured)};
}

Async<FileEntry> StatOn(std::shared_ptr<FileDesk> desk, EngineName volume, RelPath path) {
  co_await Uncancelled();
  const FileDesk::Details none;
  CO_ASSIGN_OR_RETURN(const FileAnswer answer,
                      co_await desk->Answer(std::move(volume), path, none, AskStat));
  FileEntry entry = ToEntry(answer.reply.entry(), path.bytes());
  if (entry.regular() || entry.directory()) co_return entry;
  co_return desk->Distrust(absl::DataLossError("a stat of nothing"));
}

Async<OpenedFile> OpenOn(std::shared_ptr<FileDesk> desk, EngineName volume, RelPath path) {
  co_await Uncancelled();
  const FileDesk::Details none;
  CO_ASSIGN_OR_RETURN(FileAnswer answer,
                      co_await desk->Answer(std::move(volume), path, none, AskOpen));
  auto opened = CheckOpened(std::move(answer.file), path);
  if (!opened.ok()) co_return desk->Distrust(opened.status());
  co_return opened;
}

Async<std::vector<FileEntry>> ListOn(std::shared_ptr<FileDesk> desk, EngineName volume,
                                     RelPath path, int limit) {
  co_await Uncancelled();
  FileDesk::Details details;
  details.limit = std::clamp(limit, 0, kMaxListEntries);
  CO_ASSIGN_OR_RETURN(const FileAnswer answer,
                      co_await desk->Answer(std::move(volume), path, details, AskList));
  std::vector<FileEntry> entries;
  for (const Entry& entry : answer.reply.entries().entries()) {
    if (!IsName(entry.path())) co_return desk->Distrust(absl::DataLossError("a strange name"));
    std::string full = StrCat(path.bytes(), path.empty() ? "" : "/", entry.path());
    entries.push_back(ToEntry(entry, std::move(full)));
  }
  std::sort(entries.begin(), entries.end(),
            [](const FileEntry& a, const FileEntry& b) { return a.path < b.path; });
  co_return entries;
}

Async<std::unique_ptr<PendingFile>> CreateOn(std::shared_ptr<FileDesk> desk, EngineName volume,
                                             RelPath path, bool make_parents, std::string part) {
  co_await Uncancelled();
  FileDesk::Details details;
  details.flag = make_parents;
  details.part = std::move(part);
  CO_ASSIGN_OR_RETURN(FileAnswer answer,
                      co_await desk->Answer(std::move(volume), path, details, AskCreate));
  if (!answer.reply.has_created() || !IsOpenedAs(answer.file, O_WRONLY, S_IFREG)) {
    co_return desk->Distrust(absl::DataLossError("not a regular file to write"));
  }
  co_return MakePendingFile(desk->strand(), std::move(answer), path.bytes());
}

Async<std::int64_t> DeleteOn(std::shared_ptr<FileDesk> desk, EngineName volume, RelPath path,
                             bool recursive, absl::Time since) {
  co_await Uncancelled();
  FileDesk::Details details;
  details.flag = recursive;
  if (since != absl::InfiniteFuture()) details.since_ns = absl::ToUnixNanos(since);
  std::int64_t removed = 0;
  for (;;) {
    const absl::StatusOr<FileAnswer> answer =
        co_await desk->Answer(volume, path, details, AskDelete);
    // Somebody else took the rest.
    if (absl::IsNotFound(answer.status()) && removed > 0) co_return removed;
    CO_RETURN_IF_ERROR(answer.status());
    const files::v1::Deleted& deleted = answer->reply.deleted();
    removed += deleted.removed();
    details.begun = true;
    if (!deleted.more()) co_return removed;
    if (deleted.removed() <= 0) {
      co_return desk->Distrust(absl::DataLossError("removing without end"));
    }
  }
}

Async<MeasuredTree> MeasureOn(std::shared_ptr<FileDesk> desk, EngineName volume, RelPath path,
                              absl::Duration patience) {
  co_await Uncancelled();
  const auto until = std::chrono::steady_clock::now() + absl::ToChronoNanoseconds(patience);
  FileDesk::Details details;
  for (;;) {
    CO_ASSIGN_OR_RETURN(const FileAnswer answer,
                        co_await desk->Answer(volume, path, details, AskMeasure));
    const files::v1::Measured& measured = answer.reply.measured();
    if (measured.bytes() < 0 || measured.inodes() < 0) {
      co_return desk->Distrust(absl::DataLossError("a tree of less than nothing"));
    }
    details.walk = measured.walk();
    if (details.walk == 0) co_return ToTree(measured);
    if (std::chrono::steady_clock::now() >= until) {
      details.flag = true;
      (co_await desk->Answer(volume, path, details, AskMeasure)).IgnoreError();
      MeasuredTree tree = ToTree(measured);
      tree.missing =
          StrCat("there is more in it than can be looked at in ", absl::FormatDuration(patience));
      co_return tree;
    }
    co_await Pause(kMeasurePause);
  }
}

class StrandedFileProcess : public FileProcess {
 public:
  StrandedFileProcess(const asio::any_io_executor& executor, FileProcessOptions options,
                      VolumeOpener opener)
      : desk_(std::make_shared<FileDesk>(executor, std::move(options), std::move(opener))) {}
  ~StrandedFileProcess() override {
    asio::post(desk_->strand(), [desk = desk_] { desk->Close(); });
  }

  Async<FileEntry> Stat(EngineName volume, RelPath path) override {
    Async<FileEntry> call = StatOn(desk_, std::move(volume), std::move(path));
    return AwaitOn(desk_->strand(), std::move(call));
  }
  Async<OpenedFile> Open(EngineName volume, RelPath path) override {
    Async<OpenedFile> call = OpenOn(desk_, std::move(volume), std::move(path));
    return AwaitOn(desk_->strand(), std::move(call));
  }
  Async<std::vector<FileEntry>> List(EngineName volume, RelPath path, int limit) override {
    auto call = ListOn(desk_, std::move(volume), std::move(path), limit);
    return AwaitOn(desk_->strand(), std::move(call));
  }
  Async<std::unique_ptr<PendingFile>> Create(EngineName volume, RelPath path, bool make_parents,
                                             std::string part) override {
    auto call = CreateOn(desk_, std::move(volume), std::move(path), make_parents, std::move(part));
    return AwaitOn(desk_->strand(), std::move(call));
  }
  Async<std::int64_t> Delete(EngineName volume, RelPath path, bool recursive) override {
    auto call =
        DeleteOn(desk_, std::move(volume), std::move(path), recursive, absl::InfiniteFuture());
    return AwaitOn(desk_->strand(), std::move(call));
  }
  Async<std::int64_t> DeleteUnchanged(EngineName volume, RelPath path, absl::Time since) override {
    auto call = DeleteOn(desk_, std::move(volume), std::move(path), /*recursive=*/true, since);
    return AwaitOn(desk_->strand(), std::move(call));
  }
  Async<MeasuredTree> Measure(EngineName volume, RelPath path, absl::Duration patience) override {
    auto call = MeasureOn(desk_, std::move(volume), std::move(path), patience);
    return AwaitOn(desk_->strand(), std::move(call));
  }
  void Drop(const EngineName& volume) override {
    asio::post(desk_->strand(), [desk = desk_, volume] { desk->Drop(volume); });
  }

 private:
  const std::shared_ptr<FileDesk> desk_;
};

}  // namespace

std::string FileEntry::Etag() const { return FileEtag(device, inode, size, changed_ns); }

std::unique_ptr<FileProcess> MakeFileProcess(const asio::any_io_executor& executor,
                                             FileProcessOptions options, VolumeOpener opener) {
  return std::make_unique<StrandedFileProcess>(executor, std::move(options), std::move(opener));
}

}  // namespace sandkeep
