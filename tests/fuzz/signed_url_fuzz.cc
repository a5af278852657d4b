// What follows /dl/ in a URL. As a link: nobody makes one that is good. As a file's path: the link
// that we make of it is good, and no more so with one byte changed; the first byte says which.
#include <algorithm>
#include <string>
#include <utility>

#include "common/secret.h"
#include "common/strings.h"
#include "gateway/downloads/link.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fuzz/fuzz_target.h"

namespace sandkeep {
namespace {

constexpr std::string_view kKey = "box-aaaaaaaaaaaaaaaa";
constexpr LinkOwner kOwner = {.principal = "key-1", .generation = "g1"};
constexpr std::string_view kBefore = "https://box.example/dl/";

bool IsGood(const LinkSigner& signer, std::string_view rest) {
  const std::optional<LinkClaim> claim = LinkClaim::Parse(rest);
  return claim.has_value() && (signer.Judge(*claim, kOwner) == LinkVerdict::kGood ||
                               signer.JudgeForFolder(*claim, kOwner) == LinkVerdict::kGood ||
                               signer.JudgeForJob(*claim, kOwner) == LinkVerdict::kGood);
}

void CheckOwnLink(LinkSigner& signer, std::string_view path_text, std::uint8_t which) {
  const absl::StatusOr<RelPath> path = RelPath::Parse(path_text);
  if (!path.ok() || path->empty()) return;
  const mcp::LinkTarget target{
      .principal = kOwner.principal, .key = kKey, .generation = kOwner.generation};
  std::string link = signer.Make("https://box.example", target, path->bytes());
  Require(link.compare(0, kBefore.size(), kBefore) == 0, "a link begins with our address");
  Require(link.find_first_of(" \t\r\n\"<>()[]") == std::string::npos, "a link can be copied");
  link.erase(0, kBefore.size());
  const std::optional<LinkClaim> claim = LinkClaim::Parse(link);
  Require(claim.has_value() && claim->path == *path, "a link is read as it was made");
  if (!claim->job().has_value()) {
    Require(signer.Judge(*claim, kOwner) == LinkVerdict::kGood, "our own link is good");
  }
  link[which % link.size()] ^= 1;
  Require(!IsGood(signer, link), "a changed link is not");
}

int TestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const FakeClock clock;
  LinkSecrets secrets;
  secrets.keys.push_back({.secret = Secret("a secret of the test's")});
  const LinkBook book(std::move(secrets));
  LinkSigner signer(book, LinkLifetimes(std::chrono::seconds(3600)), clock);
  const std::string_view text = AsText(data + 1, size - 1);
  Require(!IsGood(signer, text), "nobody guesses a link");
  CheckOwnLink(signer, text, data[0]);
  return 0;
}

}  // namespace
}  // namespace sandkeep

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return sandkeep::TestOneInput(data, size);
}
