#include "gateway/http/response.h"

#include <algorithm>
#include <array>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <ctime>
#include <utility>

#include "absl/strings/match.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "common/strings.h"

namespace sandkeep::http {
namespace {

std::string_view ReasonOf(int status) {
  constexpr std::array<std::pair<int, std::string_view>, 27> kReasons = {{
      {200, "OK"},
      {201, "Created"},
      {202, "Accepted"},
      {204, "No Content"},
      {206, "Partial Content"},
      {304, "Not Modified"},
      {307, "Temporary Redirect"},
      {400, "Bad Request"},
      {401, "Unauthorized"},
      {403, "Forbidden"},
      {404, "Not Found"},
      {405, "Method Not Allowed"},
      {408, "Request Timeout"},
      {409, "Conflict"},
      {410, "Gone"},
      {411, "Length Required"},
      {412, "Precondition Failed"},
      {413, "Content Too Large"},
      {414, "URI Too Long"},
      {416, "Range Not Satisfiable"},
      {417, "Expectation Failed"},
      {429, "Too Many Requests"},
      {431, "Request Header Fields Too Large"},
      {500, "Internal Server Error"},
      {501, "Not Implemented"},
      {503, "Service Unavailable"},
      {505, "HTTP Version Not Supported"},
  }};
  for (const auto& [code, reason] : kReasons) {
    if (code == status) return reason;
  }
  return "Unknown";
}

// Formatting it costs more than all else of a head: once a second is enough.
const std::string& DateLine() {
  thread_local std::time_t made_at = 0;
  thread_local std::string line;
  const std::time_t now = std::time(nullptr);
  if (now != made_at) {
    made_at = now;
    line = StrCat(
        "Date: ",
        absl::FormatTime("%a, %d %b %Y %H:%M:%S GMT", absl::FromTimeT(now), absl::UTCTimeZone()),
        "\r\n");
  }
  return line;
}

bool Has(const Response& response, std::string_view name) {
  return std::any_of(response.headers.begin(), response.headers.end(), [name](const Header& h) {
    return absl::EqualsIgnoreCase(h.name, ToAbsl(name));
  });
}

void AppendFraming(std::string* head, const Framing& framing) {
  if (framing.kind == Framing::Kind::kLength) {
    StrAppend(head, "Content-Length: ", framing.length, "\r\n");
  }
  if (framing.kind == Framing::Kind::kChunked) *head += "Transfer-Encoding: chunked\r\n";
  if (framing.close) *head += "Connection: close\r\n";
}

}  // namespace

Response ErrorResponse(int status, std::string_view error, std::string_view description) {
  boost::json::object body;
  body["error"] = boost::json::string_view(error.data(), error.size());
  body["error_description"] = boost::json::string_view(description.data(), description.size());
  return TextResponse(status, "application/json", boost::json::serialize(body));
}

Response TextResponse(int status, std::string_view content_type, std::string body) {
  return {.status = status,
          .headers = {{"Content-Type", std::string(content_type)}},
          .body = std::move(body)};
}

Response PageResponse(int status, std::string_view title, std::string_view text) {
  return TextResponse(
      status, "text/html; charset=utf-8",
      StrCat("<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n"
             "<meta name=\"viewport\" content=\"width=device-width\">\n<title>",
             title, "</title>\n<h1>", title, "</h1>\n<p>", text, "</p>\n</html>\n"));
}

std::string ResponseHead(const Response& response, std::string_view origin,
                         const Framing& framing) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kEverywhere = {{
      {"X-Content-Type-Options", "nosniff"},
      {"Cache-Control", "no-store"},
      {"Referrer-Policy", "no-referrer"},
      {"Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'; sandbox"},
      {"X-Frame-Options", "DENY"},
      {"Cross-Origin-Resource-Policy", "same-origin"},
  }};
  std::string head;
  head.reserve(512);
  StrAppend(&head, "HTTP/1.1 ", response.status, " ", ReasonOf(response.status), "\r\n",
            DateLine());
  for (const Header& header : response.headers) {
    StrAppend(&head, header.name, ": ", header.value, "\r\n");
  }
  for (const auto& [name, value] : kEverywhere) {
    if (!Has(response, name)) StrAppend(&head, name, ": ", value, "\r\n");
  }
  if (!origin.empty()) {
    StrAppend(&head, "Access-Control-Allow-Origin: ", origin,
              "\r\nVary: Origin\r\n"
              "Access-Control-Expose-Headers: WWW-Authenticate, Retry-After, Mcp-Session-Id\r\n");
  }
  AppendFraming(&head, framing);
  head += "\r\n";
  return head;
}

}  // namespace sandkeep::http
