// An answer, and how its head is written. Plain values; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/http/request.h"

namespace sandkeep::http {

struct Response {
  int status = 200;
  std::vector<Header> headers;  // Beside those that every answer has.
  std::string body;
};

// `{"error": …, "error_description": …}`, as OAuth has it: clients know it, and no JSON-RPC answer
// can be mistaken for one.
Response ErrorResponse(int status, std::string_view error, std::string_view description);
Response TextResponse(int status, std::string_view content_type, std::string body);
// A page of a sentence for a person. No markup in `title` or `text`.
Response PageResponse(int status, std::string_view title, std::string_view text);

// How the end of the body is told.
struct Framing {
  enum class Kind { kNone, kLength, kChunked, kUntilClose };
  Kind kind = Kind::kLength;
  std::int64_t length = 0;
  bool close = false;  // The connection ends with this answer.
};

// The head up to and with the empty line: `response`'s own headers, then those of every answer
// (date, no sniffing, no referrer, no storing, no framing, CORS for an allowed origin), each only
// where the response has no such header of its own.
std::string ResponseHead(const Response& response, std::string_view origin, const Framing& framing);

}  // namespace sandkeep::http
