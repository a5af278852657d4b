#include "gateway/keys/access_key.h"

#include "absl/strings/escaping.h"
#include "common/digest.h"
#include "common/strings.h"

namespace sandkeep {
namespace {

constexpr std::size_t kKeyBytes = 32;

}  // namespace

Secret MintAccessKey(Random& random) {
  return Secret(StrCat("sk-", absl::WebSafeBase64Escape(random.Bytes(kKeyBytes))));
}

std::string HashAccessKey(std::string_view key) { return Sha256(key); }

}  // namespace sandkeep
