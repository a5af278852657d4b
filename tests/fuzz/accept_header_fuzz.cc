// An Accept header. Whatever it is, it gets a page only for having asked for one, in any spelling,
// and no longer once it takes anything else as gladly.
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "common/strings.h"
#include "gateway/downloads/accept.h"
#include "tests/fuzz/fuzz_target.h"

namespace sandkeep {
namespace {

int TestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string header(AsText(data, size));
  const bool page = PrefersPage(header);
  Require(PrefersPage(absl::AsciiStrToUpper(header)) == page, "large letters are small ones");
  Require(PrefersPage(header + " , ") == page, "an empty member is none");
  Require(!page || absl::StrContains(absl::AsciiStrToLower(header), "text/html"),
          "a page is asked for by name");
  for (const char* more : {",*/*", ", application/zip;q=1", ",*", ",text/html;q=.2"}) {
    Require(!PrefersPage(header + more), "who takes anything gets the folder, and who errs");
  }
  return 0;
}

}  // namespace
}  // namespace sandkeep

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return sandkeep::TestOneInput(data, size);
}
