#include "gateway/downloads/file_source.h"

#include <utility>

#include "common/limits.h"
#include "common/log.h"
#include "common/status_macros.h"
#include "gateway/downloads/described_file.h"
#include "gateway/downloads/streamed_file.h"

namespace sandkeep {
namespace {

template <typename Request>
Request RequestFor(const WantedFile& wanted) {
  Request request;
  request.mutable_sandbox()->set_key(wanted.key);
  request.set_path(wanted.path);
  return request;
}

// Of the way, not of the file.
bool GoesByTheOther(const absl::Status& fetched) {
  return absl::IsUnimplemented(fetched) || absl::IsResourceExhausted(fetched);
}

}  // namespace

Async<agent::v1::FileInfo> FileSources::Stat(WantedFile wanted) {
  return agent_.StatFile(RequestFor<agent::v1::StatFileRequest>(wanted));
}

// Unimplemented: it can't be had so.
Async<std::unique_ptr<FileSource>> FileSources::Fetch(WantedFile wanted) {
  auto opening = agent_.OpenFile(RequestFor<agent::v1::OpenFileRequest>(wanted));
  CO_ASSIGN_OR_RETURN(agent::v1::OpenFileResponse opened, co_await std::move(opening));
  auto fetching = door_->Fetch(opened.ticket());
  absl::StatusOr<UniqueFd> file = co_await std::move(fetching);
  if (absl::IsCancelled(file.status())) co_return file.status();
  if (!file.ok()) {
    Say(Way::kStream, file.status());
    co_return absl::UnimplementedError(file.status().message());
  }
  Say(Way::kDescriptor, absl::OkStatus());
  co_return DescribedFile::Make(*door_, threads_.get_executor(), std::move(opened),
                                *std::move(file));
}

Async<std::unique_ptr<FileSource>> FileSources::Open(const http::Exchange& exchange,
                                                     WantedFile wanted) {
  absl::StatusOr<std::unique_ptr<FileSource>> source =
      absl::AbortedError("the file has just changed");
  for (int tries = 0; tries < kOpenTries && absl::IsAborted(source.status()); ++tries) {
    const bool fetched = door_ != nullptr && exchange.takes_files() && door_->open();
    if (!fetched) {
      source = absl::UnimplementedError("streamed");
      break;
    }
    auto fetching = Fetch(wanted);
    source = co_await std::move(fetching);
  }
  if (source.ok() || !GoesByTheOther(source.status())) co_return source;
  auto looking = Stat(wanted);
  CO_ASSIGN_OR_RETURN(agent::v1::FileInfo info, co_await std::move(looking));
  co_return std::make_unique<StreamedFile>(agent_, std::move(wanted), std::move(info));
}

void FileSources::Say(Way way, const absl::Status& why) {
  if (way_.exchange(way) == way) return;
  if (way == Way::kDescriptor) return Log(Severity::kInfo, "downloads.by_descriptor");
  Log(Severity::kWarning, "downloads.streamed", {{"why", why}});
}

}  // namespace sandkeep
