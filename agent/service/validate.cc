#include "agent/service/validate.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "common/limits.h"
#include "common/status_macros.h"
#include "common/strings.h"

namespace sandkeep {
namespace {

namespace v1 = agent::v1;

constexpr int kDefaultJobs = 20;
constexpr int kDefaultSandboxes = 100;
constexpr int kDefaultFiles = 200;
constexpr int kLastSignal = 64;
constexpr std::size_t kUploadIdBytes = 16;

absl::Status Wrong(std::string_view field, std::string_view expected) {
  return absl::InvalidArgumentError(StrCat(field, " ", expected));
}

// What a parser of common/ says, with the field in front.
absl::Status In(std::string_view field, const absl::Status& status) {
  return absl::Status(status.code(), StrCat(field, ": ", ToStd(status.message())));
}

absl::Status CheckBytes(std::string_view field, std::string_view bytes, std::size_t limit) {
  if (bytes.size() > limit) return Wrong(field, StrCat("must be at most ", limit, " bytes"));
  if (bytes.find('\0') != std::string_view::npos) return Wrong(field, "must not hold a NUL byte");
  return absl::OkStatus();
}

absl::StatusOr<int> LimitIn(std::string_view field, std::int64_t value, int fallback, int most) {
  if (value == 0) return fallback;
  if (value < 0 || value > most) return Wrong(field, StrCat("must be 1 to ", most));
  return static_cast<int>(value);
}

absl::Status CheckOffset(std::string_view field, std::int64_t value) {
  if (value < 0) return Wrong(field, "must not be negative");
  return absl::OkStatus();
}

absl::StatusOr<PrincipalId> ParsePrincipal(std::string_view text) {
  absl::StatusOr<PrincipalId> principal = PrincipalId::Parse(text);
  if (!principal.ok()) return In("principal", principal.status());
  return principal;
}

absl::StatusOr<RelPath> ParsePath(std::string_view bytes) {
  absl::StatusOr<RelPath> path = RelPath::Parse(bytes);
  if (!path.ok()) return In("path", path.status());
  return path;
}

// A file's: the workspace itself is none.
absl::StatusOr<RelPath> ParseFilePath(std::string_view bytes) {
  ASSIGN_OR_RETURN(RelPath path, ParsePath(bytes));
  if (path.empty()) return Wrong("path", "must name a file");
  return path;
}

absl::StatusOr<JobId> ParseJobId(std::string_view bytes) {
  absl::StatusOr<JobId> id = JobId::FromBytes(bytes);
  if (!id.ok()) return Wrong("job_id", StrCat("must be ", JobId::kBytes, " bytes"));
  return id;
}

absl::StatusOr<absl::Duration> ParseGrace(std::int64_t ms) {
  if (ms < 0 || ms > kMaxGrace.count()) {
    return Wrong("grace_ms", StrCat("must be 0 to ", kMaxGrace.count()));
  }
  return absl::Milliseconds(ms);
}

bool IsEnvName(std::string_view name) {
  const auto letter = [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
  };
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  if (name.empty() || !letter(name.front())) return false;
  return std::all_of(name.begin(), name.end(), [&](char c) { return letter(c) || digit(c); });
}

absl::StatusOr<std::vector<std::pair<std::string, std::string>>> ParseEnv(
    const google::protobuf::Map<std::string, std::string>& env) {
  if (env.size() > kMaxEnvEntries) {
    return Wrong("env", StrCat("must have at most ", kMaxEnvEntries, " entries"));
  }
  std::size_t total = 0;
  std::vector<std::pair<std::string, std::string>> entries;
  for (const auto& [name, value] : env) {
    total += name.size() + value.size();
    if (total > kMaxEnvBytes)
      return Wrong("env", StrCat("must be at most ", kMaxEnvBytes, " bytes"));
    if (!IsEnvName(name))
      return Wrong("env", "names must be of letters, digits and _, no digit first");
    RETURN_IF_ERROR(CheckBytes("env", value, kMaxEnvBytes));
    entries.emplace_back(name, value);
  }
  // A map has no order; the same request is to be the same job.
  std::sort(entries.begin(), entries.end());
  return entries;
}

absl::Status CheckCwd(std::string_view cwd) {
  RETURN_IF_ERROR(CheckBytes("cwd", cwd, kMaxPathBytes - 1));
  if (!cwd.empty() && cwd.front() != '/') return Wrong("cwd", "must be absolute");
  return absl::OkStatus();
}

absl::StatusOr<JobSpec> ParseSpec(const v1::StartJobRequest& request) {
  if (request.has_terminal()) {
    return absl::UnimplementedError("terminal: not served by this version");
  }
  if (request.command().empty()) return Wrong("command", "must not be empty");
  RETURN_IF_ERROR(CheckBytes("command", request.command(), kMaxCommandBytes));
  RETURN_IF_ERROR(CheckCwd(request.cwd()));
  if (request.stdin().size() > kMaxStdinBytes) {
    return Wrong("stdin", StrCat("must be at most ", kMaxStdinBytes, " bytes"));
  }
  RETURN_IF_ERROR(CheckOffset("timeout_ms", request.timeout_ms()));
  ASSIGN_OR_RETURN(JobId id, ParseJobId(request.job_id()));
  ASSIGN_OR_RETURN(const absl::Duration grace, ParseGrace(request.grace_ms()));
  ASSIGN_OR_RETURN(auto env, ParseEnv(request.env()));
  return JobSpec{
      .id = std::move(id),
      .command = request.command(),
      .cwd = request.cwd(),
      .env = std::move(env),
      .stdin_text = request.stdin(),
      .keep_stdin = request.keep_stdin(),
      .merge_streams = request.merge_streams(),
      .timeout = request.timeout_ms() == 0 ? absl::InfiniteDuration()
                                           : absl::Milliseconds(request.timeout_ms()),
      .grace = request.grace_ms() == 0 ? absl::FromChrono(kStopGrace) : grace,
  };
}

absl::StatusOr<OutputStream> ParseStream(v1::Stream stream) {
  switch (stream) {
    case v1::STREAM_UNSPECIFIED:
      return OutputStream::kMerged;
    case v1::STDOUT:
      return OutputStream::kStdout;
    case v1::STDERR:
      return OutputStream::kStderr;
    default:
      return Wrong("stream", "must be STREAM_UNSPECIFIED, STDOUT or STDERR");
  }
}

}  // namespace

absl::StatusOr<SandboxRef> ParseOwnRef(const v1::SandboxRef& ref) {
  if (!ref.key().empty()) return Wrong("key", "names a sandbox only where a link is served");
  ASSIGN_OR_RETURN(PrincipalId principal, ParsePrincipal(ref.principal()));
  if (const auto label = Label::Parse(ref.label()); !label.ok()) return In("label", label.status());
  return SandboxRef{.principal = std::move(principal), .label = ref.label(), .key = std::nullopt};
}

absl::StatusOr<SandboxRef> ParseRefOrKey(const v1::SandboxRef& ref) {
  if (ref.key().empty()) return ParseOwnRef(ref);
  if (!ref.principal().empty() || !ref.label().empty()) {
    return Wrong("sandbox", "must have either principal and label, or key");
  }
  absl::StatusOr<SandboxKey> key = SandboxKey::Parse(ref.key());
  if (!key.ok()) return In("key", key.status());
  return SandboxRef{.principal = std::nullopt, .label = "", .key = *std::move(key)};
}

absl::StatusOr<StartJobCall> ParseStartJob(const v1::StartJobRequest& request) {
  ASSIGN_OR_RETURN(SandboxRef ref, ParseOwnRef(request.sandbox()));
  ASSIGN_OR_RETURN(JobSpec spec, ParseSpec(request));
  return StartJobCall{*std::move(ref.principal), std::move(ref.label), std::move(spec)};
}

absl::StatusOr<WatchJobCall> ParseWatchJob(const v1::WatchJobRequest& request) {
  ASSIGN_OR_RETURN(SandboxRef ref, ParseOwnRef(request.sandbox()));
  RETURN_IF_ERROR(CheckOffset("from_offset", request.from_offset()));
  std::optional<JobId> id;
  if (!request.job_id().empty()) {
    ASSIGN_OR_RETURN(id, ParseJobId(request.job_id()));
  }
  return WatchJobCall{std::move(ref), std::move(id), request.from_offset(), request.follow()};
}

absl::StatusOr<SendInputCall> ParseSendInput(const v1::SendInputRequest& request) {
  ASSIGN_OR_RETURN(SandboxRef ref, ParseOwnRef(request.sandbox()));
  ASSIGN_OR_RETURN(JobId id, ParseJobId(request.job_id()));
  if (request.data().size() > kMaxInputBytes) {
    return Wrong("data", StrCat("must be at most ", kMaxInputBytes, " bytes"));
  }
  return SendInputCall{std::move(ref), std::move(id), request.data(), request.end()};
}

absl::StatusOr<SignalJobCall> ParseSignalJob(const v1::SignalJobRequest& request) {
  ASSIGN_OR_RETURN(SandboxRef ref, ParseOwnRef(request.sandbox()));
  ASSIGN_OR_RETURN(JobId id, ParseJobId(request.job_id()));
  if (request.signal() < 1 || request.signal() > kLastSignal) {
    return Wrong("signal", StrCat("must be 1 to ", kLastSignal));
  }
  ASSIGN_OR_RETURN(const absl::Duration grace, ParseGrace(request.grace_ms()));
  return SignalJobCall{std::move(ref), std::move(id), request.signal(), grace};
}

absl::StatusOr<ListJobsCall> ParseListJobs(const v1::ListJobsRequest& request) {
  ASSIGN_OR_RETURN(SandboxRef ref, ParseOwnRef(request.sandbox()));
  ASSIGN_OR_RETURN(const int limit,
                   LimitIn("limit", request.limit(), kDefaultJobs, kMaxListedJobs));
  return ListJobsCall{std::move(ref), limit};
}

absl::StatusOr<ReadOutputCall> ParseReadOutput(const v1::ReadOutputRequest& request) {
  ASSIGN_OR_RETURN(SandboxRef ref, ParseRefOrKey(request.sandbox()));
  ASSIGN_OR_RETURN(JobId id, ParseJobId(request.job_id()));
  ASSIGN_OR_RETURN(const OutputStream stream, ParseStream(request.stream()));
  RETURN_IF_ERROR(CheckOffset("offset", request.offset()));
  ASSIGN_OR_RETURN(const int limit,
                   LimitIn("limit", request.limit(), kMaxReadOutputBytes, kMaxReadOutputBytes));
  return ReadOutputCall{std::move(ref), std::move(id), stream, request.offset(), limit};
}

absl::StatusOr<ListSandboxesCall> ParseListSandboxes(const v1::ListSandboxesRequest& request) {
  std::optional<PrincipalId> principal;
  if (!request.principal().empty()) {
    ASSIGN_OR_RETURN(principal, ParsePrincipal(request.principal()));
  }
  ASSIGN_OR_RETURN(const int limit,
                   LimitIn("limit", request.limit(), kDefaultSandboxes, kMaxListedSandboxes));
  return ListSandboxesCall{std::move(principal), limit};
}

absl::StatusOr<FileCall> ParseStatFile(const v1::StatFileRequest& request) {
  ASSIGN_OR_RETURN(SandboxRef ref, ParseRefOrKey(request.sandbox()));
  ASSIGN_OR_RETURN(RelPath path, ParsePath(request.path()));
  return FileCall{std::move(ref), std::move(path)};
}

absl::StatusOr<ReadFileCall> ParseReadFile(const v1::ReadFileRequest& request) {
  ASSIGN_OR_RETURN(SandboxRef ref, ParseRefOrKey(request.sandbox()));
  ASSIGN_OR_RETURN(RelPath path, ParseFilePath(request.path()));
  RETURN_IF_ERROR(CheckOffset("offset", request.offset()));
  RETURN_IF_ERROR(CheckOffset("length", request.length()));
  RETURN_IF_ERROR(CheckBytes("if_etag", request.if_etag(), kMaxEtagBytes));
  std::optional<std::int64_t> length;
  if (request.length() > 0) length = request.length();
  return ReadFileCall{std::move(ref), std::move(path), request.offset(), length, request.if_etag()};
}

absl::StatusOr<OpenFileCall> ParseOpenFile(const v1::OpenFileRequest& request) {
  ASSIGN_OR_RETURN(SandboxRef ref, ParseRefOrKey(request.sandbox()));
  ASSIGN_OR_RETURN(RelPath path, ParseFilePath(request.path()));
  RETURN_IF_ERROR(CheckBytes("if_etag", request.if_etag(), kMaxEtagBytes));
  return OpenFileCall{std::move(ref), std::move(path), request.if_etag()};
}

absl::StatusOr<WriteFileCall> ParseWriteFile(const v1::WriteFileHeader& header) {
  ASSIGN_OR_RETURN(SandboxRef ref, ParseOwnRef(header.sandbox()));
  ASSIGN_OR_RETURN(RelPath path, ParseFilePath(header.path()));
  if (header.size() < 0 || header.size() > kMaxUploadBytes) {
    return Wrong("size", StrCat("must be 0 to ", kMaxUploadBytes));
  }
  if (!header.upload().empty() && header.upload().size() != kUploadIdBytes) {
    return Wrong("upload", StrCat("must be ", kUploadIdBytes, " bytes"));
  }
  RETURN_IF_ERROR(CheckOffset("offset", header.offset()));
  if (header.offset() > header.size()) return Wrong("offset", "must not be past the size");
  if (header.upload().empty() && (header.offset() > 0 || header.abandon())) {
    return Wrong("upload", "must be named");
  }
  if (!header.upload().empty() && header.append()) return Wrong("append", "is for no upload");
  RETURN_IF_ERROR(CheckBytes("if_etag", header.if_etag(), kMaxEtagBytes));
  const std::string& etag = header.if_etag();
  const bool must_exist = etag == "*";
  const bool must_be_new = etag == "-";
  return WriteFileCall{.ref = std::move(ref),
                       .path = std::move(path),
                       .size = header.size(),
                       .offset = header.offset(),
                       .upload = header.upload(),
                       .if_etag = must_exist || must_be_new ? "" : etag,
                       .must_exist = must_exist,
                       .must_be_new = must_be_new,
                       .append = header.append(),
                       .make_parents = header.make_parents(),
                       .abandon = header.abandon()};
}

absl::StatusOr<DeleteFileCall> ParseDeleteFile(const v1::DeleteFileRequest& request) {
  ASSIGN_OR_RETURN(SandboxRef ref, ParseOwnRef(request.sandbox()));
  ASSIGN_OR_RETURN(RelPath path, ParseFilePath(request.path()));
  return DeleteFileCall{std::move(ref), std::move(path), request.recursive()};
}

absl::StatusOr<RenderImageCall> ParseRenderImage(const v1::RenderImageRequest& request) {
  ASSIGN_OR_RETURN(SandboxRef ref, ParseRefOrKey(request.sandbox()));
  ASSIGN_OR_RETURN(RelPath path, ParseFilePath(request.path()));
  const std::uint32_t max_px = request.max_px();
  if (max_px < kMinImagePixels || max_px > static_cast<std::uint32_t>(kMaxRenderPixels)) {
    return Wrong("max_px", StrCat("must be ", kMinImagePixels, " to ", kMaxRenderPixels));
  }
  if (request.max_bytes() < kMinImageBytes || request.max_bytes() > kMaxImageBytes) {
    return Wrong("max_bytes", StrCat("must be ", kMinImageBytes, " to ", kMaxImageBytes));
  }
  const ImageBounds bounds{static_cast<int>(max_px), request.max_bytes()};
  return RenderImageCall{std::move(ref), std::move(path), bounds};
}

absl::StatusOr<ListFilesCall> ParseListFiles(const v1::ListFilesRequest& request) {
  ASSIGN_OR_RETURN(SandboxRef ref, ParseRefOrKey(request.sandbox()));
  ASSIGN_OR_RETURN(RelPath path, ParsePath(request.path()));
  absl::StatusOr<Glob> pattern = Glob::Parse(request.pattern());
  if (!pattern.ok()) return In("pattern", pattern.status());
  RETURN_IF_ERROR(CheckBytes("after", request.after(), kMaxPathBytes));
  if (!request.after().empty() && request.newest_first()) {
    return Wrong("after", "goes by name, not by time");
  }
  ASSIGN_OR_RETURN(const int limit,
                   LimitIn("limit", request.limit(), kDefaultFiles, kMaxListedFiles));
  return ListFilesCall{.ref = std::move(ref),
                       .query = {.path = std::move(path),
                                 .pattern = *std::move(pattern),
                                 .limit = static_cast<std::size_t>(limit),
                                 .newest_first = request.newest_first(),
                                 .after = request.after()}};
}

}  // namespace sandkeep
