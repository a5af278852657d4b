// What a request would rather have of a folder: a page to look at, or the archive. Any thread.
#pragma once

#include <string_view>

namespace sandkeep {

// By its Accept header (RFC 9110, 12.5.1): a page for who names text/html and likes nothing that an
// archive is as well, as browsers do where a person goes to an address. Everybody else is a program
// and gets the archive: curl and wget, which take anything; a browser that saves what a link leads
// to, which says nothing or takes anything, as does one that goes on with a download; and whoever
// sends what isn't such a header, as Java up to 17 does (`*; q=.2`), which names text/html first.
bool PrefersPage(std::string_view accept);

}  // namespace sandkeep
