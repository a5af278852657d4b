// The same bytes are the same request, however they arrive; the first byte says in what pieces. And
// what is let through has one reading: no front server can see another request in it.
#include <algorithm>
#include <optional>
#include <string>

#include "common/limits.h"
#include "common/strings.h"
#include "gateway/http/request_parser.h"
#include "tests/fuzz/fuzz_target.h"

namespace sandkeep {
namespace {

using http::RequestParser;

struct Read {
  RequestParser::Stage stage = RequestParser::Stage::kHead;
  int refused = 0;
  std::string method;
  std::string target;
  std::string body;
  std::string headers;
  bool keep_alive = false;
  std::size_t left = 0;
  friend bool operator==(const Read&, const Read&) = default;
};

bool Ended(const RequestParser& parser) {
  return parser.stage() == RequestParser::Stage::kDone ||
         parser.stage() == RequestParser::Stage::kRefused;
}

constexpr std::string_view kToken =
    "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

std::string WithoutZeros(const std::string& number) {
  return number.substr(std::min(number.find_first_not_of('0'), number.size() - 1));
}

bool IsToken(std::string_view text) {
  return !text.empty() && text.find_first_not_of(kToken) == std::string_view::npos;
}

bool IsOneLine(std::string_view text) {
  return text.find_first_of(std::string_view("\r\n\0", 3)) == std::string_view::npos;
}

void CheckReading(const http::Request& request) {
  Require(IsToken(request.method), "a method is a token");
  Require(!request.target.empty() && request.target.size() <= kMaxUrlBytes &&
              request.target.find_first_of(" \t") == std::string::npos && IsOneLine(request.target),
          "a target has no blank");
  Require(request.headers.size() <= kMaxHeaders, "headers have a bound");
  for (const http::Header& header : request.headers) {
    Require(IsToken(header.name), "a header's name is a token");
    Require(IsOneLine(header.value), "a header's value is one line");
  }
  const std::string* length = request.Find("content-length");
  const std::string* coding = request.Find("transfer-encoding");
  Require(length == nullptr || coding == nullptr, "a body ends in one way");
  Require(length == nullptr || (!length->empty() && length->size() <= 19 &&
                                length->find_first_not_of("0123456789") == std::string::npos),
          "a length is a number");
  Require(coding == nullptr || (!request.http_1_0 && coding->size() == 7), "chunked and no more");
}

void CheckWhole(const http::Request& request) {
  const std::string* length = request.Find("content-length");
  if (length != nullptr) {
    Require(std::to_string(request.body.size()) == WithoutZeros(*length),
            "a body is as long as was said");
  }
  const bool has_body = length != nullptr || request.Find("transfer-encoding") != nullptr;
  Require(has_body || request.body.empty(), "what has no length has no body");
}

// As a connection does it: what isn't taken is given again with more behind it.
Read ReadInPieces(std::string_view bytes, std::size_t piece) {
  RequestParser parser;
  std::string unread;
  while (!Ended(parser)) {
    const std::size_t taken = parser.Feed(unread);
    Require(taken <= unread.size(), "no more is taken than there is");
    unread.erase(0, taken);
    if (taken > 0 || Ended(parser)) continue;
    if (bytes.empty()) break;
    const std::size_t more = std::min(piece, bytes.size());
    unread.append(bytes.substr(0, more));
    bytes.remove_prefix(more);
  }
  Read read;
  read.stage = parser.stage();
  if (read.stage == RequestParser::Stage::kRefused) {
    read.refused = parser.refusal().status;
    return read;
  }
  const http::Request& request = parser.request();
  read.left = unread.size() + bytes.size();
  read.method = request.method;
  read.target = request.target;
  read.body = request.body;
  read.keep_alive = request.keep_alive;
  for (const http::Header& header : request.headers) {
    StrAppend(&read.headers, header.name, ":", header.value, "\n");
  }
  if (read.stage != RequestParser::Stage::kHead) CheckReading(request);
  if (read.stage == RequestParser::Stage::kDone) CheckWhole(request);
  return read;
}

int TestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes = AsText(data + 1, size - 1);
  const Read whole = ReadInPieces(bytes, bytes.size() + 1);
  const Read pieces = ReadInPieces(bytes, 1 + data[0]);
  Require(whole.stage == pieces.stage, "pieces end in the same stage");
  Require(whole.refused == pieces.refused, "pieces are refused alike");
  Require(whole == pieces, "pieces are the same request");
  Require(whole.refused == 0 || (whole.refused >= 400 && whole.refused < 600), "a refusal is one");
  return 0;
}

}  // namespace
}  // namespace sandkeep

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return sandkeep::TestOneInput(data, size);
}
