// The methods for files.

#include <algorithm>
#include <utility>

#include "agent/service/convert.h"
#include "agent/service/file_write.h"
#include "agent/service/handlers.h"
#include "agent/service/validate.h"
#include "common/clock.h"
#include "common/limits.h"
#include "common/part_name.h"
#include "common/status_macros.h"
#include "common/strings.h"

namespace sandkeep {

namespace v1 = agent::v1;

namespace {

absl::Status CheckEtag(const std::string& expected, const SandboxFile& file) {
  if (expected.empty() || expected == file.entry.Etag()) return absl::OkStatus();
  return absl::AbortedError("the file is another by now");
}

}  // namespace

Async<void> Handlers::StatFile(const v1::StatFileRequest& request, v1::FileInfo& response) {
  CO_ASSIGN_OR_RETURN(FileCall call, ParseStatFile(request));
  CO_RETURN_IF_ERROR(Admit(RpcOf("StatFile"), call.ref));
  auto looking = manager_.StatFile(call.ref, call.path);
  absl::StatusOr<SandboxFile> file = co_await std::move(looking);
  if (absl::IsNotFound(file.status()) && IsPartName(call.path.Name())) {
    file = FindPlaced(call.ref, call.path);
  }
  CO_RETURN_IF_ERROR(file.status());
  Fill(&response, *file);
  co_return absl::OkStatus();
}

absl::StatusOr<SandboxFile> Handlers::FindPlaced(const SandboxRef& ref, const RelPath& part) const {
  ASSIGN_OR_RETURN(const SandboxSnapshot sandbox, manager_.Get(ref));
  std::optional<FileEntry> entry = files_.placed.Find(sandbox.generation, part.bytes());
  if (!entry) return absl::NotFoundError("there is no such file");
  return SandboxFile{.key = sandbox.key,
                     .generation = sandbox.generation,
                     .entry = *std::move(entry),
                     .file = UniqueFd()};
}

Async<void> Handlers::ReadFile(const v1::ReadFileRequest& request, FileChunks& chunks) {
  CO_ASSIGN_OR_RETURN(ReadFileCall call, ParseReadFile(request));
  CO_RETURN_IF_ERROR(Admit(RpcOf("ReadFile"), call.ref));
  auto opening = manager_.OpenFile(std::move(call.ref), std::move(call.path));
  CO_ASSIGN_OR_RETURN(SandboxFile file, co_await std::move(opening));
  CO_RETURN_IF_ERROR(CheckEtag(call.if_etag, file));
  const std::int64_t size = file.entry.size;
  if (call.offset > size) {
    co_return absl::OutOfRangeError(StrCat("offset: the file has ", size, " bytes"));
  }
  const std::int64_t end = call.offset + std::min(call.length.value_or(size), size - call.offset);
  v1::FileChunk chunk;
  Fill(chunk.mutable_info(), file);
  const auto descriptor = std::make_shared<const UniqueFd>(std::move(file.file));
  std::int64_t at = call.offset;
  do {
    const std::int64_t piece = std::min<std::int64_t>(end - at, kMaxFileChunk);
    auto reading = files_.disk.Read(descriptor, at, static_cast<std::size_t>(piece));
    CO_ASSIGN_OR_RETURN(std::string data, co_await std::move(reading));
    chunk.set_offset(at);
    chunk.set_data(std::move(data));
    auto writing = chunks.Write(std::move(chunk));
    CO_RETURN_IF_ERROR(co_await std::move(writing));
    chunk.Clear();
    at += piece;
  } while (at < end);
  co_return absl::OkStatus();
}

// Whether the peer can fetch it is its own matter: what it doesn't fetch is closed again.
Async<void> Handlers::OpenFile(const v1::OpenFileRequest& request, v1::OpenFileResponse& response) {
  CO_ASSIGN_OR_RETURN(OpenFileCall call, ParseOpenFile(request));
  CO_RETURN_IF_ERROR(Admit(RpcOf("OpenFile"), call.ref));
  auto opening = manager_.OpenFile(std::move(call.ref), std::move(call.path));
  CO_ASSIGN_OR_RETURN(SandboxFile file, co_await std::move(opening));
  CO_RETURN_IF_ERROR(CheckEtag(call.if_etag, file));
  Fill(response.mutable_info(), file);
  CO_ASSIGN_OR_RETURN(std::string ticket, files_.tickets->Issue({.file = std::move(file.file),
                                                                 .hold = std::move(file.hold)}));
  response.set_ticket(std::move(ticket));
  const absl::Duration lifetime = absl::FromChrono(files_.tickets->lifetime());
  response.set_expires_ms(absl::ToUnixMillis(SystemClock().Now() + lifetime));
  co_return absl::OkStatus();
}

Async<void> Handlers::WriteFile(FileParts& parts, v1::WriteFileResponse& response) {
  auto first = parts.Next();
  absl::StatusOr<std::optional<v1::WriteFileRequest>> part = co_await std::move(first);
  CO_RETURN_IF_ERROR(part.status());
  if (!part->has_value() || !(*part)->has_header()) {
    co_return absl::InvalidArgumentError("header must come first");
  }
  CO_ASSIGN_OR_RETURN(WriteFileCall call, ParseWriteFile((*part)->header()));
  CO_RETURN_IF_ERROR(Admit(RpcOf("WriteFile"), call.ref));
  FileWrite write(manager_, files_, std::move(call));
  auto beginning = write.Begin();
  CO_RETURN_IF_ERROR(co_await std::move(beginning));
  while (write.TakesData()) {
    auto next = parts.Next();
    part = co_await std::move(next);
    CO_RETURN_IF_ERROR(part.status());
    if (!part->has_value()) break;
    std::string data = std::move(*(*part)->mutable_data());
    if (data.size() > kMaxFileChunk) {
      co_return absl::InvalidArgumentError(
          StrCat("data must be at most ", kMaxFileChunk, " bytes at once"));
    }
    auto taking = write.Take(std::move(data));
    CO_RETURN_IF_ERROR(co_await std::move(taking));
  }
  response.set_received(write.received());
  if (write.IsElsewhere()) co_return absl::OkStatus();
  auto finishing = write.Finish();
  CO_ASSIGN_OR_RETURN(const std::optional<SandboxFile> file, co_await std::move(finishing));
  if (file.has_value()) Fill(response.mutable_info(), *file);
  response.set_created(write.created());
  response.set_new_sandbox(write.new_sandbox());
  co_return absl::OkStatus();
}

Async<void> Handlers::DeleteFile(const v1::DeleteFileRequest& request,
                                 v1::DeleteFileResponse& response) {
  CO_ASSIGN_OR_RETURN(DeleteFileCall call, ParseDeleteFile(request));
  CO_RETURN_IF_ERROR(Admit(RpcOf("DeleteFile"), call.ref));
  auto removing = manager_.DeleteFile(std::move(call.ref), std::move(call.path), call.recursive);
  CO_ASSIGN_OR_RETURN(const std::int64_t removed, co_await std::move(removing));
  response.set_removed(removed);
  co_return absl::OkStatus();
}

Async<void> Handlers::ListFiles(const v1::ListFilesRequest& request,
                                v1::ListFilesResponse& response) {
  CO_ASSIGN_OR_RETURN(ListFilesCall call, ParseListFiles(request));
  CO_RETURN_IF_ERROR(Admit(RpcOf("ListFiles"), call.ref));
  auto listing = manager_.ListFiles(std::move(call.ref), std::move(call.query));
  CO_ASSIGN_OR_RETURN(const FileListing found, co_await std::move(listing));
  for (const FileEntry& file : found.files) Fill(response.add_files(), file);
  response.set_truncated(found.truncated);
  co_return absl::OkStatus();
}

Async<void> Handlers::RenderImage(const v1::RenderImageRequest& request,
                                  v1::RenderImageResponse& response) {
  CO_ASSIGN_OR_RETURN(RenderImageCall call, ParseRenderImage(request));
  CO_RETURN_IF_ERROR(Admit(RpcOf("RenderImage"), call.ref));
  const std::optional<PrincipalId> principal = call.ref.principal;
  auto opening = manager_.OpenFile(std::move(call.ref), std::move(call.path));
  CO_ASSIGN_OR_RETURN(SandboxFile file, co_await std::move(opening));
  if (file.entry.size > kMaxImageFileBytes) {
    co_return absl::ResourceExhaustedError("it takes too much to look at");
  }
  std::string whose = principal.has_value() ? principal->text() : file.key.text();
  auto rendering = files_.imager.Render(std::move(whose), std::move(file.file), call.bounds);
  CO_ASSIGN_OR_RETURN(RenderedImage image, co_await std::move(rendering));
  response.set_mime_type(std::string(MimeTypeOf(image.format)));
  response.set_data(std::move(image.data));
  response.set_width(static_cast<std::uint32_t>(image.width));
  response.set_height(static_cast<std::uint32_t>(image.height));
  response.set_scaled(image.scaled);
  co_return absl::OkStatus();
}

}  // namespace sandkeep
