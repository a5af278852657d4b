// What a link is refused with. Any thread.
#pragma once

#include "absl/status/status.h"
#include "gateway/http/response.h"

namespace sandkeep {

// Every wrong link's, whatever is wrong with it.
absl::Status WrongLink();
absl::Status ExpiredLink();
// As many are being served as may be at once.
absl::Status BusyWithLinks();

// The page for a person.
http::Response RefusalPage(const absl::Status& status);

// A folder of which no archive can be whole.
http::Response NoArchivePage();

}  // namespace sandkeep
