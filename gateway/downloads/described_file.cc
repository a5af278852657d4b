#include "gateway/downloads/described_file.h"

#include <fcntl.h>
#include <sys/uio.h>

#include <optional>
#include <utility>

#include "common/limits.h"
#include "common/log.h"
#include "common/opened_file.h"
#include "common/status_macros.h"

namespace sandkeep {
namespace {

// Only if there is no disk to wait for.
std::optional<std::string> ReadFromMemory(int file, std::int64_t offset, std::int64_t length) {
  std::string data(static_cast<std::size_t>(length), '\0');
  const iovec space{data.data(), data.size()};
  if (::preadv2(file, &space, 1, offset, RWF_NOWAIT) != length) return std::nullopt;
  return data;
}

}  // namespace

absl::StatusOr<std::unique_ptr<FileSource>> DescribedFile::Make(
    DescriptorDoor& door, boost::asio::any_io_executor threads, agent::v1::OpenFileResponse opened,
    UniqueFd file) {
  std::unique_ptr<DescribedFile> made(
      new DescribedFile(door, std::move(threads), std::move(opened), std::move(file)));
  RETURN_IF_ERROR(made->Check());
  return made;
}

absl::Status DescribedFile::Check() const {
  struct stat seen{};
  if (!IsOpenedAs(*file_, O_RDONLY, S_IFREG) || ::fstat(file_->get(), &seen) != 0) {
    return absl::UnimplementedError("what was handed over is no file to read");
  }
  if (FileEtag(seen) == info().etag()) return absl::OkStatus();
  return absl::AbortedError("the file has just changed");
}

// A little one is sent with its head: one packet, and nobody else has to be woken for it.
Async<void> DescribedFile::Send(http::Exchange& exchange, http::Response head, std::int64_t offset,
                                std::int64_t length) {
  std::optional<std::string> little;
  if (length <= static_cast<std::int64_t>(kHttpPieceBytes)) {
    little = ReadFromMemory(file_->get(), offset, length);
  }
  const bool with_head = little.has_value();
  if (with_head) head.body = *std::move(little);
  const bool begun = co_await exchange.Begin(std::move(head), length);
  if (!begun) co_return absl::OkStatus();
  auto written = http::FileWritten::kWhole;
  if (!with_head) {
    auto sending = exchange.WriteFile({file_, offset, length}, threads_);
    written = co_await std::move(sending);
  }
  if (written == http::FileWritten::kWhole) co_await exchange.End();
  if (written == http::FileWritten::kCut) {
    Log(Severity::kWarning, "download.cut", {{"key", info().key()}, {"size", info().size()}});
  }
  co_return absl::OkStatus();
}

}  // namespace sandkeep
