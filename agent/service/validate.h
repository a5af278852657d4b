// All validation of what arrives in a request, in one file: a message in, the parsed types of
// common/ and agent/ out, or InvalidArgument whose text names the field and what was expected.
// Unimplemented: the field is of the contract but not served by this version.
//
// Everything here comes from another process: front ends are trusted to name principals, not to be
// well-formed. No I/O, no state; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "agent/imager/rendered_image.h"
#include "agent/sandbox/sandbox_manager.h"
#include "sandkeep/agent/v1/agent.pb.h"

namespace sandkeep {

struct StartJobCall {
  PrincipalId principal;
  std::string label;
  JobSpec spec;
};
struct WatchJobCall {
  SandboxRef ref;
  std::optional<JobId> id;  // Absent: the newest.
  std::int64_t from_offset = 0;
  bool follow = false;
};
struct SendInputCall {
  SandboxRef ref;
  JobId id;
  std::string data;
  bool end = false;
};
struct SignalJobCall {
  SandboxRef ref;
  JobId id;
  int signal = 0;
  absl::Duration grace;
};
struct ListJobsCall {
  SandboxRef ref;
  int limit = 0;
};
struct ReadOutputCall {
  SandboxRef ref;
  JobId id;
  OutputStream stream = OutputStream::kMerged;
  std::int64_t offset = 0;
  std::int64_t limit = 0;
};
struct ListSandboxesCall {
  std::optional<PrincipalId> principal;  // Absent: everyone's.
  int limit = 0;
};
struct FileCall {
  SandboxRef ref;
  RelPath path;
};
struct ReadFileCall {
  SandboxRef ref;
  RelPath path;
  std::int64_t offset = 0;
  std::optional<std::int64_t> length;  // Absent: to the end.
  std::string if_etag;                 // Empty: whatever it is.
};
struct OpenFileCall {
  SandboxRef ref;
  RelPath path;
  std::string if_etag;  // Empty: whatever it is.
};
struct ListFilesCall {
  SandboxRef ref;
  FileQuery query;
};
struct WriteFileCall {
  SandboxRef ref;
  RelPath path;
  std::int64_t size = 0;
  std::int64_t offset = 0;  // Of an upload.
  std::string upload;       // 16 bytes, or empty.
  std::string if_etag;      // Empty: whatever is there.
  bool must_exist = false;
  bool must_be_new = false;
  bool append = false;
  bool make_parents = false;
  bool abandon = false;
};
struct RenderImageCall {
  SandboxRef ref;
  RelPath path;
  ImageBounds bounds;
};
struct DeleteFileCall {
  SandboxRef ref;
  RelPath path;
  bool recursive = false;
};

absl::StatusOr<StartJobCall> ParseStartJob(const agent::v1::StartJobRequest& request);
absl::StatusOr<WatchJobCall> ParseWatchJob(const agent::v1::WatchJobRequest& request);
absl::StatusOr<SendInputCall> ParseSendInput(const agent::v1::SendInputRequest& request);
absl::StatusOr<SignalJobCall> ParseSignalJob(const agent::v1::SignalJobRequest& request);
absl::StatusOr<ListJobsCall> ParseListJobs(const agent::v1::ListJobsRequest& request);
absl::StatusOr<ReadOutputCall> ParseReadOutput(const agent::v1::ReadOutputRequest& request);
absl::StatusOr<ListSandboxesCall> ParseListSandboxes(
    const agent::v1::ListSandboxesRequest& request);
// Principal and label: what every method but the files' takes.
absl::StatusOr<SandboxRef> ParseOwnRef(const agent::v1::SandboxRef& ref);
// Or the key alone, whose bearer shows a link: files, and the sandbox that a link's signature is
// judged by.
absl::StatusOr<SandboxRef> ParseRefOrKey(const agent::v1::SandboxRef& ref);
absl::StatusOr<FileCall> ParseStatFile(const agent::v1::StatFileRequest& request);
absl::StatusOr<ReadFileCall> ParseReadFile(const agent::v1::ReadFileRequest& request);
absl::StatusOr<OpenFileCall> ParseOpenFile(const agent::v1::OpenFileRequest& request);
absl::StatusOr<WriteFileCall> ParseWriteFile(const agent::v1::WriteFileHeader& header);
absl::StatusOr<DeleteFileCall> ParseDeleteFile(const agent::v1::DeleteFileRequest& request);
absl::StatusOr<RenderImageCall> ParseRenderImage(const agent::v1::RenderImageRequest& request);
absl::StatusOr<ListFilesCall> ParseListFiles(const agent::v1::ListFilesRequest& request);

}  // namespace sandkeep
