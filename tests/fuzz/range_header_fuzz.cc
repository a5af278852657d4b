// A Range header, behind the size of the file on a line of its own.
#include <limits>
#include <string>

#include "absl/strings/numbers.h"
#include "common/strings.h"
#include "gateway/downloads/byte_range.h"
#include "tests/fuzz/fuzz_target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sandkeep;
  std::string_view text = AsText(data, size);
  std::int64_t file = 0;
  if (!absl::SimpleAtoi(ToAbsl(TakeUntil(&text, '\n')), &file) || file < 0) return 0;
  const ByteRange range = ByteRange::Parse(text, file);
  if (range.kind != ByteRange::Kind::kPart) return 0;
  Require(range.first >= 0 && range.first <= range.last && range.last < file,
          "a part lies within the file");
  Require(range.length() > 0, "a part has a length");
  return 0;
}
