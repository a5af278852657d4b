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
// Before a job's id, where a file has its path.
constexpr std::string_view kJobs = ".jobs/";
// Until the year 33658.
constexpr std::size_t kMaxExpiryDigits = 12;

// Each field behind its length: no two different links have one input.
void AppendField(std::string* input, std::string_view field) {
  StrAppend(input, field.size(), ":", field);
}

std::string Sign(const Secret& secret, std::string_view tag, std::string_view generation,
                 std::string_view key, std::string_view path, std::int64_t expiry) {
  std::string input;
  AppendField(&input, tag);
  AppendField(&input, generation);
  AppendField(&input, key);
  AppendField(&input, path);
  AppendField(&input, StrCat(expiry));
  return HmacSha256(secret.Reveal(), input).substr(0, kLinkSignatureBytes);
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

std::optional<JobId> LinkClaim::job() const {
  std::string_view name = path.bytes();
  if (name.substr(0, kJobs.size()) != kJobs) return std::nullopt;
  name.remove_prefix(kJobs.size());
  absl::StatusOr<JobId> id = JobId::FromHex(name);
  if (!id.ok()) return std::nullopt;
  return *std::move(id);
}

LinkVerdict LinkSigner::JudgeAs(std::string_view tag, const LinkClaim& claim,
                                std::string_view generation) const {
  bool right = false;
  for (const Secret& secret : keys_) {
    right |= EqualInConstantTime(Sign(secret, tag, generation, claim.key.text(), claim.path.bytes(),
                                      absl::ToUnixSeconds(claim.expiry)),
                                 claim.signature);
  }
  if (!right) return LinkVerdict::kWrong;
  return clock_.Now() < claim.expiry ? LinkVerdict::kGood : LinkVerdict::kExpired;
}

LinkVerdict LinkSigner::Judge(const LinkClaim& claim, std::string_view generation) const {
  return JudgeAs(kFileTag, claim, generation);
}

LinkVerdict LinkSigner::JudgeForJob(const LinkClaim& claim, std::string_view generation) const {
  return JudgeAs(kOutputTag, claim, generation);
}

std::string LinkSigner::MakeAs(std::string_view tag, std::string_view public_base,
                               std::string_view key, std::string_view generation,
                               std::string_view path) const {
  const std::int64_t expiry = absl::ToUnixSeconds(clock_.Now() + absl::FromChrono(lifetime_));
  return StrCat(public_base, "/dl/", expiry, "/",
                Base64Url(Sign(keys_.front(), tag, generation, key, path, expiry)), "/", key, "/",
                PercentEncode(path, /*keep_slash=*/true));
}

std::string LinkSigner::Make(std::string_view public_base, std::string_view key,
                             std::string_view generation, std::string_view path) {
  return MakeAs(kFileTag, public_base, key, generation, path);
}

std::string LinkSigner::MakeForJob(std::string_view public_base, std::string_view key,
                                   std::string_view generation, const JobId& job) {
  return MakeAs(kOutputTag, public_base, key, generation, StrCat(kJobs, job.hex()));
}

}  // namespace sandkeep
