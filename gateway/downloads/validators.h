// Conditional requests (RFC 9110): the ETag and the date of a file against what the client has.
// Any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "gateway/http/request.h"

namespace sandkeep {

class Validators {
 public:
  Validators(std::string_view etag, std::int64_t modified_ms);

  const std::string& etag() const { return etag_; }                    // Quoted.
  const std::string& last_modified() const { return last_modified_; }  // IMF-fixdate.

  // If-None-Match, or without one If-Modified-Since, says that the client has this very file.
  bool ClientHasIt(const http::Request& request) const;
  // A range may be served: If-Range is absent or names this very file.
  bool RangeStands(const http::Request& request) const;

 private:
  std::string etag_;
  std::string last_modified_;
};

}  // namespace sandkeep
