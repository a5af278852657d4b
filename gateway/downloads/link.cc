#include "gateway/downloads/link.h"

#include <cstdint>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "common/digest.h"
#include "common/limits.h"
#include "common/strings.h"
#include "gateway/downloads/percent.h"

namespace sandkeep {
namespace {

// Bumped if the meaning of what is signed ever changes; other uses of the same secret have another.
constexpr std::string_view kFileTag = "sandkeep-download-1";
constexpr std::string_view kOutputTag = "sandkeep-output-1";
constexpr std::string_view kFolderTag = "sandkeep-folder-1";
// Behind a folder's path; the workspace has none before it.
constexpr std::string_view EndingOf(mcp::ArchiveFormat format) {
  return format == mcp::ArchiveFormat::kTar ? ".tar" : ".zip";
}
constexpr std::string_view kStampTag = "sandkeep-etag-1";
// Of the HMAC in an ETag.
constexpr std::size_t kStampBytes = 8;
// Before a job's id, where a file has its path.
constexpr std::string_view kJobs = ".jobs/";
// Behind it, where its stderr is meant.
constexpr std::string_view kErrors = ".stderr";
// Until the year 33658.
constexpr std::size_t kMaxExpiryDigits = 12;

// Each field behind its length: no two different links have one input.
void AppendField(std::string* input, std::string_view field) {
  StrAppend(input, field.size(), ":", field);
}

// What is signed, but for the path.
struct Signed {
  std::string_view tag;
  std::string_view generation;
  std::string_view key;
  std::int64_t expiry = 0;
  std::int64_t epoch = 0;
};

std::string Sign(const Secret& secret, const Signed& link, std::string_view path) {
  std::string input;
  AppendField(&input, link.tag);
  AppendField(&input, link.generation);
  AppendField(&input, link.key);
  AppendField(&input, path);
  AppendField(&input, StrCat(link.expiry));
  if (link.epoch > 0) AppendField(&input, StrCat(link.epoch));
  return HmacSha256(secret.Reveal(), input).substr(0, kLinkSignatureBytes);
}

std::int64_t EpochOf(const LinkSecrets& secrets, std::string_view principal) {
  const auto epoch = secrets.epochs.find(ToAbsl(principal));
  return epoch == secrets.epochs.end() ? 0 : epoch->second;
}

std::string Base64Url(std::string_view bytes) { return absl::WebSafeBase64Escape(ToAbsl(bytes)); }

// Decoders differ in what they let pass (padding, spare bits); encoding again leaves one spelling.
std::optional<std::string> StrictBase64Url(std::string_view text) {
  std::string bytes;
  if (!absl::WebSafeBase64Unescape(ToAbsl(text), &bytes)) return std::nullopt;
  if (bytes.size() != kLinkSignatureBytes || Base64Url(bytes) != text) return std::nullopt;
  return bytes;
}

std::optional<std::int64_t> StrictNumber(std::string_view text) {
  std::int64_t value = 0;
  if (text.size() > kMaxExpiryDigits || !absl::SimpleAtoi(ToAbsl(text), &value) ||
      StrCat(value) != text) {
    return std::nullopt;
  }
  return value;
}

std::string_view TakeSegment(std::string_view* rest) {
  const std::size_t slash = rest->find('/');
  const std::string_view segment = rest->substr(0, slash);
  rest->remove_prefix(slash == std::string_view::npos ? rest->size() : slash + 1);
  return segment;
}

// The path as it was signed: a different spelling of the same path isn't it.
std::optional<RelPath> StrictPath(std::string_view encoded) {
  const std::optional<std::string> bytes = PercentDecode(encoded);
  if (!bytes.has_value()) return std::nullopt;
  absl::StatusOr<RelPath> path = RelPath::Parse(*bytes);
  if (!path.ok() || path->empty() || path->bytes() != *bytes) return std::nullopt;
  return *std::move(path);
}

}  // namespace

std::optional<LinkClaim> LinkClaim::Parse(std::string_view rest) {
  const std::optional<std::int64_t> expiry = StrictNumber(TakeSegment(&rest));
  std::optional<std::string> signature = StrictBase64Url(TakeSegment(&rest));
  absl::StatusOr<SandboxKey> key = SandboxKey::Parse(TakeSegment(&rest));
  std::optional<RelPath> path = StrictPath(rest);
  if (!expiry.has_value() || !signature.has_value() || !key.ok() || !path.has_value()) {
    return std::nullopt;
  }
  return LinkClaim{.expiry = absl::FromUnixSeconds(*expiry),
                   .signature = *std::move(signature),
                   .key = *std::move(key),
                   .path = *std::move(path)};
}

std::optional<LinkedOutput> LinkClaim::job() const {
  std::string_view name = path.bytes();
  if (name.substr(0, kJobs.size()) != kJobs) return std::nullopt;
  name.remove_prefix(kJobs.size());
  const std::size_t stem = name.size() - std::min(name.size(), kErrors.size());
  const bool errors = name.substr(stem) == kErrors;
  if (errors) name = name.substr(0, stem);
  absl::StatusOr<JobId> id = JobId::FromHex(name);
  if (!id.ok()) return std::nullopt;
  return LinkedOutput{*std::move(id), errors};
}

std::optional<ArchivedFolder> LinkClaim::folder() const {
  for (const mcp::ArchiveFormat format : {mcp::ArchiveFormat::kZip, mcp::ArchiveFormat::kTar}) {
    const std::string_view ending = EndingOf(format);
    std::string_view name = path.bytes();
    if (name.size() < ending.size() || name.substr(name.size() - ending.size()) != ending) continue;
    name.remove_suffix(ending.size());
    // `a/.zip` would be the archive of `a/`, which nobody makes a link for.
    if (!name.empty() && name.back() == '/') return std::nullopt;
    return ArchivedFolder{std::string(name), format};
  }
  return std::nullopt;
}

LinkVerdict LinkSigner::JudgeAs(std::string_view tag, const LinkClaim& claim,
                                const LinkOwner& owner) const {
  const std::shared_ptr<const LinkSecrets> secrets = book_.Snapshot();
  const absl::Time now = clock_.Now();
  const Signed link{.tag = tag,
                    .generation = owner.generation,
                    .key = claim.key.text(),
                    .expiry = absl::ToUnixSeconds(claim.expiry),
                    .epoch = EpochOf(*secrets, owner.principal)};
  bool right = false;
  for (const LinkKey& key : secrets->keys) {
    const std::string signature = Sign(key.secret, link, claim.path.bytes());
    right |= EqualInConstantTime(signature, claim.signature) && now < key.ends;
  }
  if (!right || secrets->revoked.contains(claim.signature)) return LinkVerdict::kWrong;
  return now < claim.expiry ? LinkVerdict::kGood : LinkVerdict::kExpired;
}

LinkVerdict LinkSigner::Judge(const LinkClaim& claim, const LinkOwner& owner) const {
  return JudgeAs(kFileTag, claim, owner);
}

LinkVerdict LinkSigner::JudgeForFolder(const LinkClaim& claim, const LinkOwner& owner) const {
  return JudgeAs(kFolderTag, claim, owner);
}

LinkVerdict LinkSigner::JudgeForJob(const LinkClaim& claim, const LinkOwner& owner) const {
  return JudgeAs(kOutputTag, claim, owner);
}

std::string LinkSigner::Stamped(const LinkClaim& claim, std::string_view etag) const {
  // By the first of all keys, which is there as long as the database: a rotation ends no download.
  const std::shared_ptr<const LinkSecrets> secrets = book_.Snapshot();
  std::string input;
  AppendField(&input, kStampTag);
  AppendField(&input, claim.signature);
  AppendField(&input, etag);
  const std::string stamp =
      HmacSha256(secrets->keys.back().secret.Reveal(), input).substr(0, kStampBytes);
  return StrCat(etag, ".", Base64Url(stamp));
}

bool LinkSigner::MayBeResumed(const LinkClaim& claim) const {
  return clock_.Now() < claim.expiry + absl::FromChrono(kResumeGrace);
}

std::string LinkSigner::MakeAs(std::string_view tag, std::string_view public_base,
                               const mcp::LinkTarget& target, std::string_view path) const {
  const std::shared_ptr<const LinkSecrets> secrets = book_.Snapshot();
  const std::int64_t expiry =
      absl::ToUnixSeconds(clock_.Now() + absl::FromChrono(LifetimeFor(target)));
  const Signed link{.tag = tag,
                    .generation = target.generation,
                    .key = target.key,
                    .expiry = expiry,
                    .epoch = EpochOf(*secrets, target.principal)};
  return StrCat(download_base_.empty() ? public_base : download_base_, "/dl/", expiry, "/",
                Base64Url(Sign(secrets->keys.front().secret, link, path)), "/", target.key, "/",
                PercentEncode(path, /*keep_slash=*/true));
}

std::string LinkSigner::Make(std::string_view public_base, const mcp::LinkTarget& target,
                             std::string_view path) {
  return MakeAs(kFileTag, public_base, target, path);
}

std::string LinkSigner::MakeForFolder(std::string_view public_base, const mcp::LinkTarget& target,
                                      std::string_view path, mcp::ArchiveFormat format) {
  return MakeAs(kFolderTag, public_base, target, StrCat(path, EndingOf(format)));
}

std::string LinkSigner::MakeForJob(std::string_view public_base, const mcp::LinkTarget& target,
                                   const JobId& job, bool errors) {
  return MakeAs(kOutputTag, public_base, target,
                StrCat(kJobs, job.hex(), errors ? kErrors : std::string_view()));
}

}  // namespace sandkeep
