#include "agent/file_process/file_process.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <utility>

#include "absl/strings/escaping.h"
#include "agent/file_process/desk.h"
#include "common/await_on.h"
#include "common/digest.h"
#include "common/limits.h"
#include "common/status_macros.h"
#include "common/strings.h"

namespace sandkeep {
namespace {

namespace asio = boost::asio;
using files::v1::Entry;
using files::v1::Request;

constexpr std::size_t kEtagBytes = 16;

FileEntry ToEntry(const Entry& entry, std::string path) {
  FileEntry file;
  file.path = std::move(path);
  file.mode = entry.mode();
  file.size = entry.size();
  file.modified = absl::FromUnixNanos(entry.modified_ns());
  file.changed_ns = entry.changed_ns();
  file.device = entry.device();
  file.inode = entry.inode();
  return file;
}

// What we see ourselves, not what it said.
absl::StatusOr<OpenedFile> CheckOpened(UniqueFd file, const RelPath& path) {
  struct stat info{};
  const int flags = file ? ::fcntl(file.get(), F_GETFL) : -1;
  if (flags < 0 || ::fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode) ||
      (flags & (O_ACCMODE | O_PATH)) != O_RDONLY) {
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

void AskStat(Request& request, std::uint64_t handle, const std::string& path, int) {
  request.mutable_stat()->set_volume(handle);
  request.mutable_stat()->set_path(path);
}

void AskOpen(Request& request, std::uint64_t handle, const std::string& path, int) {
  request.mutable_open()->set_volume(handle);
  request.mutable_open()->set_path(path);
}

void AskList(Request& request, std::uint64_t handle, const std::string& path, int limit) {
  request.mutable_list()->set_volume(handle);
  request.mutable_list()->set_path(path);
  request.mutable_list()->set_limit(static_cast<std::uint32_t>(limit));
}

Async<FileEntry> StatOn(std::shared_ptr<FileDesk> desk, EngineName volume, RelPath path) {
  CO_ASSIGN_OR_RETURN(const FileAnswer answer,
                      co_await desk->Answer(std::move(volume), path, 0, AskStat));
  FileEntry entry = ToEntry(answer.reply.entry(), path.bytes());
  if (entry.regular() || entry.directory()) co_return entry;
  co_return desk->Distrust(absl::DataLossError("a stat of nothing"));
}

Async<OpenedFile> OpenOn(std::shared_ptr<FileDesk> desk, EngineName volume, RelPath path) {
  CO_ASSIGN_OR_RETURN(FileAnswer answer,
                      co_await desk->Answer(std::move(volume), path, 0, AskOpen));
  auto opened = CheckOpened(std::move(answer.file), path);
  if (!opened.ok()) co_return desk->Distrust(opened.status());
  co_return opened;
}

Async<std::vector<FileEntry>> ListOn(std::shared_ptr<FileDesk> desk, EngineName volume,
                                     RelPath path, int limit) {
  limit = std::clamp(limit, 0, kMaxListEntries);
  CO_ASSIGN_OR_RETURN(const FileAnswer answer,
                      co_await desk->Answer(std::move(volume), path, limit, AskList));
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
  void Drop(const EngineName& volume) override {
    asio::post(desk_->strand(), [desk = desk_, volume] { desk->Drop(volume); });
  }

 private:
  const std::shared_ptr<FileDesk> desk_;
};

}  // namespace

std::string FileEntry::Etag() const {
  const std::string facts = StrCat(device, ":", inode, ":", size, ":", changed_ns);
  const std::string hash = Sha256(facts).substr(0, kEtagBytes);
  return absl::WebSafeBase64Escape(hash);
}

std::unique_ptr<FileProcess> MakeFileProcess(const asio::any_io_executor& executor,
                                             FileProcessOptions options, VolumeOpener opener) {
  return std::make_unique<StrandedFileProcess>(executor, std::move(options), std::move(opener));
}

}  // namespace sandkeep
