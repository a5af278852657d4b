// How a file of a sandbox is shown to a browser: as itself only if nothing in it can act, else as
// something to save. Any thread.
#pragma once

#include <string>
#include <string_view>

namespace sandkeep {

struct Presentation {
  std::string content_type;
  std::string content_disposition;
};

// `name` is the file's own name, in whatever bytes it has; `mime_type` by its ending.
Presentation PresentAs(std::string_view name, std::string_view mime_type);

// RFC 6266 with RFC 8187: the name in quotes for simple readers, and beside it, where that could be
// misread, percent-encoded for the others, who prefer it.
std::string ContentDisposition(std::string_view kind, std::string_view name);

}  // namespace sandkeep
