#include "gateway/downloads/folder_archive.h"

#include <algorithm>
#include <utility>

#include "common/limits.h"
#include "common/log.h"
#include "common/run_on.h"

namespace sandkeep {

namespace asio = boost::asio;
namespace v1 = agent::v1;

namespace {

ArchiveEntry EntryOf(std::string_view name, const v1::FileInfo& info) {
  return {.name = name,
          .size = info.size(),
          .mode = info.mode(),
          .modified = absl::FromUnixMillis(info.modified_ms())};
}

}  // namespace

std::string FolderArchive::NameOf(const v1::FileInfo& info) const {
  return root_.empty() ? info.path() : info.path().substr(root_.size() + 1);
}

asio::awaitable<void> FolderArchive::Pack(std::string data) {
  auto pack = [packed = packed_, data = std::move(data)] {
    packed->archive->Add(data, &packed->out);
    return true;
  };
  auto packing = RunOn(packers_.get_executor(), std::move(pack));
  co_await std::move(packing);
}

asio::awaitable<bool> FolderArchive::Write() {
  const std::string part = std::exchange(packed_->out, std::string());
  co_return co_await exchange_.Write(part);
}

asio::awaitable<bool> FolderArchive::SendEntries() {
  while (!folders_.empty()) {
    std::string folder = std::move(folders_.back());
    folders_.pop_back();
    auto sending = SendFolder(std::move(folder));
    const bool going = co_await std::move(sending);
    if (!going) co_return false;
  }
  co_return true;
}

asio::awaitable<bool> FolderArchive::Finish() {
  packed_->archive->Finish(&packed_->out);
  co_return co_await Write();
}

asio::awaitable<bool> FolderArchive::SendFolder(std::string folder) {
  v1::ListFilesRequest request;
  request.mutable_sandbox()->set_key(key_.text());
  request.set_path(folder);
  request.set_limit(kMaxListedFiles);
  for (;;) {
    const absl::StatusOr<v1::ListFilesResponse> listed = co_await agent_.ListFiles(request);
    // Gone meanwhile, or not to be read.
    if (absl::IsNotFound(listed.status()) || absl::IsPermissionDenied(listed.status())) {
      co_return true;
    }
    if (!listed.ok()) co_return false;
    for (const v1::FileInfo& info : listed->files()) {
      if (++entries_ > kMaxArchiveEntries) {
        Log(Severity::kWarning, "archive.too_many", {{"key", key_.text()}});
        co_return false;
      }
      auto sending = SendEntry(info);
      const bool going = co_await std::move(sending);
      if (!going) co_return false;
    }
    if (!listed->truncated()) co_return true;
    // There is more, and no name to go on after: the folder is larger than a search looks at.
    if (listed->files_size() == 0) co_return false;
    request.set_after(listed->files(listed->files_size() - 1).path());
  }
}

asio::awaitable<bool> FolderArchive::SendEntry(const v1::FileInfo& info) {
  if (info.type() == v1::FileInfo::DIRECTORY) {
    folders_.push_back(info.path());
    const std::string name = NameOf(info);
    packed_->archive->AddFolder(EntryOf(name, info), &packed_->out);
    co_return co_await Write();
  }
  if (info.type() != v1::FileInfo::REGULAR) co_return true;
  // It lies deeper than anybody can ask for: without it the archive isn't whole.
  if (info.path().size() >= kMaxPathBytes) co_return false;
  co_return co_await SendFile(info);
}

asio::awaitable<bool> FolderArchive::SendFile(const v1::FileInfo& info) {
  v1::ReadFileRequest read;
  read.mutable_sandbox()->set_key(key_.text());
  read.set_path(info.path());
  if (info.size() > 0) read.set_length(info.size());
  const FileChunkStream stream = agent_.ReadFile(read);
  absl::StatusOr<std::optional<v1::FileChunk>> chunk = co_await stream->Next();
  // Gone, replaced by another kind, or not to be read: as if it had never been.
  const absl::Status& why = chunk.status();
  if (absl::IsNotFound(why) || absl::IsInvalidArgument(why) || absl::IsPermissionDenied(why)) {
    co_return true;
  }
  if (!chunk.ok()) co_return false;
  // As it was opened: it may have become shorter since it was listed, and what came since isn't
  // read.
  v1::FileInfo opened = info;
  if (chunk->has_value() && (*chunk)->has_info()) opened = (*chunk)->info();
  if (opened.generation() != generation_) co_return false;
  opened.set_size(std::min(info.size(), opened.size()));
  std::int64_t left = opened.size();
  const std::string name = NameOf(info);
  packed_->archive->BeginFile(EntryOf(name, opened), &packed_->out);
  while (chunk.ok() && chunk->has_value()) {
    if (left > 0) {
      left -= static_cast<std::int64_t>((*chunk)->data().size());
      auto packing = Pack(std::move(*(*chunk)->mutable_data()));
      co_await std::move(packing);
    }
    const bool going = co_await Write();
    if (!going) co_return false;
    chunk = co_await stream->Next();
  }
  if (!chunk.ok() || left != 0) co_return false;
  packed_->archive->EndFile(&packed_->out);
  co_return co_await Write();
}

}  // namespace sandkeep
