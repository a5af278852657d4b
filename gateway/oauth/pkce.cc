#include "gateway/oauth/pkce.h"

#include "absl/strings/escaping.h"
#include "common/digest.h"
#include "common/strings.h"

namespace sandkeep::oauth {
namespace {

constexpr std::size_t kChallengeChars = 43;
constexpr std::size_t kMinVerifierChars = 43;
constexpr std::size_t kMaxVerifierChars = 128;
constexpr std::string_view kBase64Url =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

bool OnlyOf(std::string_view text, std::string_view characters, std::string_view more) {
  for (const char c : text) {
    if (characters.find(c) == std::string_view::npos && more.find(c) == std::string_view::npos) {
      return false;
    }
  }
  return true;
}

}  // namespace

bool IsChallenge(std::string_view challenge) {
  return challenge.size() == kChallengeChars && OnlyOf(challenge, kBase64Url, "");
}

bool Proves(std::string_view verifier, std::string_view challenge) {
  if (verifier.size() < kMinVerifierChars || verifier.size() > kMaxVerifierChars ||
      !OnlyOf(verifier, kBase64Url, ".~")) {
    return false;
  }
  return EqualInConstantTime(absl::WebSafeBase64Escape(Sha256(verifier)), challenge);
}

}  // namespace sandkeep::oauth
