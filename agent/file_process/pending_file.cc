#include "agent/file_process/pending_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <utility>

#include "agent/file_process/file_error.h"
#include "common/await_on.h"
#include "common/opened_file.h"
#include "common/status_macros.h"
#include "common/strings.h"
#include "common/utf8.h"

namespace sandkeep {
namespace {

namespace asio = boost::asio;
using files::v1::Request;

void Fill(files::v1::Entry& message, const FileEntry& entry) {
  message.set_size(entry.size);
  message.set_changed_ns(entry.changed_ns);
  message.set_device(entry.device);
  message.set_inode(entry.inode);
}

// The file as the process that made it knows it.
struct Handle {
  std::shared_ptr<FileConnection> connection;
  std::uint64_t number = 0;
  std::string path;
};

Async<TakenFile> CommitOn(Handle handle, TakeTerms terms) {
  co_await Uncancelled();
  Request request;
  files::v1::Commit& commit = *request.mutable_commit();
  commit.set_handle(handle.number);
  commit.set_must_be_new(terms.must_be_new);
  commit.set_size(terms.size);
  if (terms.expected.has_value()) Fill(*commit.mutable_expected(), *terms.expected);
  CO_ASSIGN_OR_RETURN(FileAnswer answer, co_await handle.connection->Call(std::move(request)));
  if (answer.reply.error() == ESTALE) {
    co_return absl::AbortedError(StrCat("`", ToValidUtf8(handle.path), "` was changed meanwhile"));
  }
  if (answer.reply.error() != 0) co_return FileError(answer.reply.error(), handle.path);
  if (!IsOpenedAs(answer.file, O_RDONLY, S_IFDIR)) {
    handle.connection->Close(absl::DataLossError("not a folder"));
    co_return absl::UnavailableError("the file process was at fault; look what is there");
  }
  co_return TakenFile{ToEntry(answer.reply.entry(), handle.path), std::move(answer.file)};
}

Async<void> LetGoOn(Handle handle) {
  co_await Uncancelled();
  Request request;
  request.mutable_commit()->set_handle(handle.number);
  request.mutable_commit()->set_keep(true);
  co_return (co_await handle.connection->Call(std::move(request))).status();
}

asio::awaitable<void> Forget(Handle handle) {
  // Should it fail, the process is gone, and its handles with it.
  (co_await LetGoOn(std::move(handle))).IgnoreError();
}

class StrandedPendingFile : public PendingFile {
 public:
  StrandedPendingFile(FileConnection::Strand strand, FileAnswer answer, std::string path)
      : strand_(std::move(strand)), file_(std::move(answer.file)) {
    const files::v1::Created& created = answer.reply.created();
    received_ = created.received();
    if (created.has_target()) target_ = ToEntry(created.target(), path);
    handle_ = {std::move(answer.from), created.handle(), std::move(path)};
  }
  ~StrandedPendingFile() override {
    if (handle_.connection == nullptr) return;
    sandkeep::Spawn(strand_, "files.let_go", Forget(std::move(handle_)));
  }

  const UniqueFd& file() const override { return file_; }
  std::int64_t received() const override { return received_; }
  const std::optional<FileEntry>& target() const override { return target_; }
  Async<TakenFile> Commit(TakeTerms terms) override {
    Async<TakenFile> call = CommitOn(std::exchange(handle_, {}), std::move(terms));
    return AwaitOn(strand_, std::move(call));
  }

 private:
  const FileConnection::Strand strand_;
  const UniqueFd file_;
  std::int64_t received_ = 0;
  std::optional<FileEntry> target_;
  Handle handle_;
};

}  // namespace

FileEntry ToEntry(const files::v1::Entry& entry, std::string path) {
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

std::unique_ptr<PendingFile> MakePendingFile(FileConnection::Strand strand, FileAnswer answer,
                                             std::string path) {
  return std::make_unique<StrandedPendingFile>(std::move(strand), std::move(answer),
                                               std::move(path));
}

}  // namespace sandkeep
