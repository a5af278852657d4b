#include "common/ids.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "common/base32.h"
#include "common/hex.h"
#include "common/limits.h"
#include "common/strings.h"

namespace sandkeep {
namespace {

constexpr std::string_view kEnginePrefix = "sandkeep-";
constexpr std::size_t kEngineIdChars = 20;
constexpr std::size_t kEngineIdBytes = 12;  // 96 bits: exactly 20 characters of base32
constexpr std::size_t kKeyMacChars = 16;
constexpr std::size_t kKeyMacBytes = 10;  // 80 bits: exactly 16 characters of base32

bool IsSlugChar(char c) { return absl::ascii_islower(c) || absl::ascii_isdigit(c) || c == '-'; }

bool IsSlug(std::string_view text) {
  return !text.empty() && text.front() != '-' && text.back() != '-' &&
         std::all_of(text.begin(), text.end(), IsSlugChar);
}

}  // namespace

template <typename Tag>
std::string Id128<Tag>::hex() const {
  return absl::BytesToHexString(bytes_);
}

template <typename Tag>
absl::StatusOr<Id128<Tag>> Id128<Tag>::FromHex(std::string_view hex) {
  std::optional<std::string> bytes = BytesOfHex(hex.substr(0, 2 * kBytes + 2));
  if (!bytes.has_value() || bytes->size() != kBytes) {
    return absl::InvalidArgumentError(
        StrCat(Tag::kName, " must be 32 hexadecimal digits in lower case"));
  }
  return Id128(*std::move(bytes));
}

template class Id128<JobIdTag>;
template class Id128<GenerationTag>;
template class Id128<InstanceTag>;

absl::StatusOr<PrincipalId> PrincipalId::Parse(std::string_view text) {
  const std::size_t dash = text.find('-');
  if (text.size() > kMaxPrincipalBytes || !IsSlug(text) || dash == std::string_view::npos) {
    return absl::InvalidArgumentError(
        StrCat("principal must be <prefix>-<id> of a-z, 0-9 and -, at most ", kMaxPrincipalBytes,
               " bytes"));
  }
  return PrincipalId(std::string(text));
}

std::string_view PrincipalId::prefix() const {
  return std::string_view(text_).substr(0, text_.find('-'));
}

absl::StatusOr<SandboxKey> SandboxKey::Parse(std::string_view text) {
  const std::size_t dash = text.rfind('-');
  const bool well_formed = dash != std::string_view::npos && dash <= kMaxSlugChars &&
                           IsSlug(text.substr(0, dash)) && text.size() - dash - 1 == kKeyMacChars &&
                           IsBase32(text.substr(dash + 1));
  if (!well_formed) return absl::InvalidArgumentError("not a sandbox key");
  return SandboxKey(std::string(text));
}

SandboxKey SandboxKey::Make(std::string_view slug, std::string_view mac) {
  return SandboxKey(StrCat(slug, "-", Base32(mac.substr(0, kKeyMacBytes))));
}

absl::StatusOr<EngineName> EngineName::Parse(std::string_view text) {
  if (text.substr(0, kEnginePrefix.size()) != kEnginePrefix ||
      text.size() != kEnginePrefix.size() + kEngineIdChars ||
      !IsBase32(text.substr(kEnginePrefix.size()))) {
    return absl::InvalidArgumentError("not a name of ours");
  }
  return EngineName(std::string(text));
}

EngineName EngineName::Make(Random& random) {
  return EngineName(
      StrCat(kEnginePrefix, Base32(random.Bytes(kEngineIdBytes)).substr(0, kEngineIdChars)));
}

}  // namespace sandkeep
