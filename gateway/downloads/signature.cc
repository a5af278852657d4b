#include "gateway/downloads/signature.h"

#include "absl/strings/escaping.h"
#include "common/digest.h"
#include "common/limits.h"
#include "common/strings.h"

namespace sandkeep {
namespace {

constexpr std::string_view kParentTag = "sandkeep-parent-1";
// No number, as the epoch before it is one.
constexpr std::string_view kHasParent = "parent";

}  // namespace

void AppendField(std::string* input, std::string_view field) {
  StrAppend(input, field.size(), ":", field);
}

std::string SignatureOf(const Secret& secret, const SignedLink& link, std::string_view path) {
  std::string input;
  AppendField(&input, link.tag);
  AppendField(&input, link.generation);
  AppendField(&input, link.key);
  AppendField(&input, path);
  AppendField(&input, StrCat(link.expiry));
  if (link.epoch > 0) AppendField(&input, StrCat(link.epoch));
  if (!link.parent.empty()) {
    AppendField(&input, kHasParent);
    AppendField(&input, link.parent);
  }
  return HmacSha256(secret.Reveal(), input).substr(0, kLinkSignatureBytes);
}

std::string ParentMark(std::string_view signature) {
  std::string input;
  AppendField(&input, kParentTag);
  AppendField(&input, signature);
  return Sha256(input).substr(0, kParentMarkBytes);
}

std::string Base64Url(std::string_view bytes) { return absl::WebSafeBase64Escape(ToAbsl(bytes)); }

std::string_view EndingOf(mcp::ArchiveFormat format) {
  return format == mcp::ArchiveFormat::kTar ? ".tar" : ".zip";
}

}  // namespace sandkeep
