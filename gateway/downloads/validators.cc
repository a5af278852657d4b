#include "gateway/downloads/validators.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/time/time.h"
#include "common/strings.h"

namespace sandkeep {
namespace {

constexpr absl::string_view kImfFixdate = "%a, %d %b %Y %H:%M:%S GMT";

}  // namespace

Validators::Validators(std::string_view etag, std::int64_t modified_ms)
    : etag_(StrCat("\"", etag, "\"")),
      last_modified_(
          absl::FormatTime(kImfFixdate, absl::FromUnixMillis(modified_ms), absl::UTCTimeZone())) {}

bool Validators::ClientHasIt(const http::Request& request) const {
  if (const std::string* tags = request.Find("if-none-match")) {
    for (std::string_view tag : Split(*tags, ',')) {
      tag = ToStd(absl::StripAsciiWhitespace(ToAbsl(tag)));
      // The comparison is the weak one: `W/` makes no difference.
      if (absl::StartsWith(ToAbsl(tag), "W/")) tag.remove_prefix(2);
      if (tag == "*" || tag == etag_) return true;
    }
    return false;
  }
  // Clients send back the date that we gave them: no need to understand others.
  const std::string* since = request.Find("if-modified-since");
  return since != nullptr && *since == last_modified_;
}

bool Validators::RangeStands(const http::Request& request) const {
  const std::string* condition = request.Find("if-range");
  // By date alone a file that changed twice in a second would pass: only the tag counts.
  return condition == nullptr || *condition == etag_;
}

}  // namespace sandkeep
