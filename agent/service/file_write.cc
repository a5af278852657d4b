#include "agent/service/file_write.h"

#include <boost/asio/this_coro.hpp>
#include <utility>

#include "common/status_macros.h"
#include "common/strings.h"

namespace sandkeep {
namespace {

namespace asio = boost::asio;

absl::Status Changed() { return absl::AbortedError("the file is another by now"); }

}  // namespace

Async<void> FileWrite::BeginAppend() {
  auto opening = manager_.OpenFile(call_.ref, call_.path);
  absl::StatusOr<SandboxFile> before = co_await std::move(opening);
  // Then it begins here.
  if (absl::IsNotFound(before.status())) co_return absl::OkStatus();
  CO_RETURN_IF_ERROR(before.status());
  before_ = *std::move(before);
  co_return absl::OkStatus();
}

absl::Status FileWrite::CheckTarget() const {
  // What an upload meets at its end counts: its bytes aren't sent twice for another name.
  if (call_.must_be_new && target_ && call_.upload.empty())
    return absl::AlreadyExistsError("the file exists already");
  if (call_.must_exist && !target_) return absl::NotFoundError("there is no such file");
  if (!call_.if_etag.empty() && !(target_ && target_->Etag() == call_.if_etag)) return Changed();
  if (before_ && !(target_ && target_->Etag() == before_->entry.Etag())) return Changed();
  return absl::OkStatus();
}

// From here on its part is another file's.
void FileWrite::ForgetPlaced() {
  if (call_.upload.empty() || call_.offset > 0) return;
  const absl::StatusOr<SandboxSnapshot> sandbox = manager_.Get(call_.ref);
  if (sandbox.ok()) placed_.Forget(sandbox->generation, Part());
}

Async<void> FileWrite::Begin() {
  ForgetPlaced();
  // It makes nothing, and so needs nothing.
  if (call_.abandon) co_return absl::OkStatus();
  if (call_.append) {
    auto appending = BeginAppend();
    CO_RETURN_IF_ERROR(co_await std::move(appending));
  }
  const std::int64_t begin = before_ ? before_->entry.size : 0;
  end_ = begin + call_.size;
  NewFileSpec spec;
  spec.make_parents = call_.make_parents;
  spec.part = call_.upload;
  spec.size = end_;
  auto making = manager_.CreateFile(call_.ref, call_.path, std::move(spec));
  CO_ASSIGN_OR_RETURN(file_, co_await std::move(making));
  target_ = file_.file->target();
  at_ = call_.upload.empty() ? begin : file_.file->received();
  CO_RETURN_IF_ERROR(CheckTarget());
  if (at_ > end_) co_return absl::AbortedError("this upload was begun with another size");
  elsewhere_ = !call_.upload.empty() && call_.offset != at_;
  if (elsewhere_) co_return absl::OkStatus();
  auto reserving = disk_.Reserve(File(), end_);
  CO_RETURN_IF_ERROR(co_await std::move(reserving));
  file_.room.reset();
  if (!before_) co_return absl::OkStatus();
  const auto old = std::make_shared<const UniqueFd>(std::move(before_->file));
  auto copying = disk_.Copy(old, File(), begin);
  co_return co_await std::move(copying);
}

Async<void> FileWrite::Take(std::string data) {
  const auto size = static_cast<std::int64_t>(data.size());
  if (size > end_ - at_) {
    co_return absl::InvalidArgumentError("data: more than `size` says");
  }
  auto writing = disk_.Write(File(), at_, std::move(data));
  CO_RETURN_IF_ERROR(co_await std::move(writing));
  at_ += size;
  co_return absl::OkStatus();
}

Async<void> FileWrite::Abandon() {
  CO_ASSIGN_OR_RETURN(RelPath part, RelPath::Parse(Part()));
  auto deleting = manager_.DeleteFile(call_.ref, std::move(part), /*recursive=*/false);
  co_return (co_await std::move(deleting)).status();
}

Async<std::optional<SandboxFile>> FileWrite::Finish() {
  if (call_.abandon) {
    auto abandoning = Abandon();
    CO_RETURN_IF_ERROR(co_await std::move(abandoning));
    co_return std::nullopt;
  }
  const bool whole = at_ == end_;
  if (!whole && call_.upload.empty()) {
    co_return absl::InvalidArgumentError(
        StrCat("data: ", end_ - at_, " bytes less than `size` says"));
  }
  // An upload's bytes too are only received once they can't be lost.
  auto flushing = disk_.Flush(File());
  CO_RETURN_IF_ERROR(co_await std::move(flushing));
  if (!whole) co_return std::nullopt;
  // From here on it happens, whoever leaves.
  co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
  TakeTerms terms;
  terms.must_be_new = call_.must_be_new;
  terms.size = end_;
  if (call_.must_exist || before_ || !call_.if_etag.empty()) terms.expected = target_;
  auto taking = manager_.CommitFile(std::move(file_), std::move(terms));
  CO_ASSIGN_OR_RETURN(SandboxTakenFile taken, co_await std::move(taking));
  if (!call_.upload.empty()) placed_.Note(taken.file.generation, Part(), taken.file.entry);
  const auto folder = std::make_shared<const UniqueFd>(std::move(taken.folder));
  auto flushing_name = disk_.Flush(folder);
  CO_RETURN_IF_ERROR(co_await std::move(flushing_name));
  co_return std::optional<SandboxFile>(std::move(taken.file));
}

}  // namespace sandkeep
