#include "gateway/downloads/link.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "common/digest.h"
#include "common/limits.h"
#include "common/strings.h"
#include "gateway/downloads/percent.h"
#include "gateway/downloads/signature.h"

namespace sandkeep {
namespace {

constexpr std::string_view kStampTag = "sandkeep-etag-1";
// Of the HMAC in an ETag.
constexpr std::size_t kStampBytes = 8;
// Before a job's id, where a file has its path.
constexpr std::string_view kJobs = ".jobs/";
// Behind it, where its stderr is meant.
constexpr std::string_view kErrors = ".stderr";
// Until the year 33658.
constexpr std::size_t kMaxExpiryDigits = 12;

std::int64_t EpochOf(const LinkSecrets& secrets, std::string_view principal) {
  const auto epoch = secrets.epochs.find(ToAbsl(principal));
  return epoch == secrets.epochs.end() ? 0 : epoch->second;
}

// Decoders differ in what they let pass (padding, spare bits); encoding again leaves one spelling.
std::optional<std::string> StrictBase64Url(std::string_view text) {
  std::string bytes;
  if (!absl::WebSafeBase64Unescape(ToAbsl(text), &bytes)) return std::nullopt;
  const bool fits =
      bytes.size() == kLinkSignatureBytes || bytes.size() == kLinkSignatureBytes + kParentMarkBytes;
  if (!fits || Base64Url(bytes) != text) return std::nullopt;
  return bytes;
}

// Few, each by somebody's hand, and forgotten a day after its link's end.
bool IsRevoked(const LinkSecrets& secrets, const LinkClaim& claim) {
  if (secrets.revoked.contains(claim.signature)) return true;
  return !claim.parent.empty() &&
         std::any_of(secrets.revoked.begin(), secrets.revoked.end(),
                     [&](const std::string& one) { return ParentMark(one) == claim.parent; });
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
  const std::optional<std::string> signature = StrictBase64Url(TakeSegment(&rest));
  absl::StatusOr<SandboxKey> key = SandboxKey::Parse(TakeSegment(&rest));
  std::optional<RelPath> path = StrictPath(rest);
  if (!expiry.has_value() || !signature.has_value() || !key.ok() || !path.has_value()) {
    return std::nullopt;
  }
  return LinkClaim{.expiry = absl::FromUnixSeconds(*expiry),
                   .signature = signature->substr(0, kLinkSignatureBytes),
                   .parent = signature->substr(kLinkSignatureBytes),
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

// The one that signed it; nullptr: none that may.
const LinkKey* LinkSigner::KeyOf(const LinkSecrets& secrets, std::string_view tag,
                                 const LinkClaim& claim, const LinkOwner& owner) const {
  const absl::Time now = clock_.Now();
  const SignedLink link{.tag = tag,
                        .generation = owner.generation,
                        .key = claim.key.text(),
                        .expiry = absl::ToUnixSeconds(claim.expiry),
                        .epoch = EpochOf(secrets, owner.principal),
                        .parent = claim.parent};
  const LinkKey* right = nullptr;
  for (const LinkKey& key : secrets.keys) {
    const std::string signature = SignatureOf(key.secret, link, claim.path.bytes());
    if (EqualInConstantTime(signature, claim.signature) && now < key.ends) right = &key;
  }
  return right;
}

LinkVerdict LinkSigner::JudgeAs(std::string_view tag, const LinkClaim& claim,
                                const LinkOwner& owner) const {
  const std::shared_ptr<const LinkSecrets> secrets = book_.Snapshot();
  const bool right = KeyOf(*secrets, tag, claim, owner) != nullptr;
  if (!right || IsRevoked(*secrets, claim)) return LinkVerdict::kWrong;
  return clock_.Now() < claim.expiry ? LinkVerdict::kGood : LinkVerdict::kExpired;
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

std::optional<PageLinks> LinkSigner::LinksBelow(std::string_view public_base,
                                                const LinkClaim& claim,
                                                const LinkOwner& owner) const {
  const std::shared_ptr<const LinkSecrets> secrets = book_.Snapshot();
  const LinkKey* key = KeyOf(*secrets, kFolderTag, claim, owner);
  if (key == nullptr) return std::nullopt;
  return PageLinks(key->secret,
                   {.base = download_base_.empty() ? std::string(public_base) : download_base_,
                    .generation = std::string(owner.generation),
                    .key = claim.key.text(),
                    .expiry = absl::ToUnixSeconds(claim.expiry),
                    .epoch = EpochOf(*secrets, owner.principal),
                    .parent = claim.parent.empty() ? ParentMark(claim.signature) : claim.parent});
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
  const SignedLink link{.tag = tag,
                        .generation = target.generation,
                        .key = target.key,
                        .expiry = expiry,
                        .epoch = EpochOf(*secrets, target.principal)};
  return StrCat(download_base_.empty() ? public_base : download_base_, "/dl/", expiry, "/",
                Base64Url(SignatureOf(secrets->keys.front().secret, link, path)), "/", target.key,
                "/", PercentEncode(path, /*keep_slash=*/true));
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
