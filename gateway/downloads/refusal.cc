#include "gateway/downloads/refusal.h"

#include "common/strings.h"
#include "gateway/downloads/archive_room.h"

namespace sandkeep {
namespace {

http::Response Later(std::string_view why) {
  http::Response page = http::PageResponse(503, "Not available now", why);
  page.headers.push_back({"Retry-After", "5"});
  return page;
}

}  // namespace

absl::Status WrongLink() { return absl::NotFoundError("no such link"); }
absl::Status ExpiredLink() { return absl::OutOfRangeError("expired"); }

absl::Status BusyWithLinks() { return absl::ResourceExhaustedError("busy with other links"); }

http::Response RefusalPage(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOutOfRange:
      return http::PageResponse(410, "This link has expired",
                                "Ask in the chat for the file again: a new link will be made.");
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kInvalidArgument:
      return http::PageResponse(404, "Nothing here", "This link is wrong, or its file is gone.");
    case absl::StatusCode::kAborted:
      return http::PageResponse(412, "The file has just changed", "Load this page again.");
    case absl::StatusCode::kResourceExhausted:
      return Later("Too much is being downloaded at the moment. Try again in a few seconds.");
    default:
      return Later("The sandboxes can't be reached at the moment. Try again soon.");
  }
}

http::Response NoArchivePage() {
  return http::PageResponse(413, "Too much for an archive",
                            StrCat("Ask in the chat for another way: ", NoArchiveWords(), "."));
}

}  // namespace sandkeep
