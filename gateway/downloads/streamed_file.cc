#include "gateway/downloads/streamed_file.h"

#include <optional>
#include <utility>

#include "common/log.h"
#include "gateway/downloads/pieces.h"

namespace sandkeep {

Async<void> StreamedFile::Send(http::Exchange& exchange, http::Response head, std::int64_t offset,
                               std::int64_t length) {
  agent::v1::ReadFileRequest read;
  read.mutable_sandbox()->set_key(wanted_.key);
  read.set_path(wanted_.path);
  read.set_offset(offset);
  read.set_length(length);
  read.set_if_etag(info_.etag());
  const FileChunkStream stream = agent_.ReadFile(read);
  // The first chunk before the head: until then a failure can still be told.
  absl::StatusOr<std::optional<agent::v1::FileChunk>> chunk = co_await stream->Next();
  if (!chunk.ok()) co_return chunk.status();
  bool going = co_await exchange.Begin(std::move(head), length);
  std::int64_t left = length;
  while (going && left > 0) {
    if (!chunk.ok() || !chunk->has_value()) {
      Log(Severity::kWarning, "download.cut", {{"key", wanted_.key}, {"missing", left}});
      co_return absl::OkStatus();
    }
    const std::string_view data = std::string_view((*chunk)->data()).substr(0, left);
    going = co_await WriteInPieces(exchange, data);
    left -= static_cast<std::int64_t>(data.size());
    if (going && left > 0) chunk = co_await stream->Next();
  }
  if (going) co_await exchange.End();
  co_return absl::OkStatus();
}

}  // namespace sandkeep
