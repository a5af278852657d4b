// The same bytes are the same request, however they arrive. The first byte says in what pieces.
#include <algorithm>
#include <optional>
#include <string>

#include "common/limits.h"
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
  std::size_t headers = 0;
  std::size_t left = 0;
  friend bool operator==(const Read&, const Read&) = default;
};

bool Ended(const RequestParser& parser) {
  return parser.stage() == RequestParser::Stage::kDone ||
         parser.stage() == RequestParser::Stage::kRefused;
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
  read.headers = request.headers.size();
  return read;
}

}  // namespace
}  // namespace sandkeep

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sandkeep;
  if (size == 0) return 0;
  const std::string_view bytes = AsText(data + 1, size - 1);
  const Read whole = ReadInPieces(bytes, bytes.size() + 1);
  const Read pieces = ReadInPieces(bytes, 1 + data[0]);
  Require(whole.stage == pieces.stage, "pieces end in the same stage");
  Require(whole.refused == pieces.refused, "pieces are refused alike");
  Require(whole == pieces, "pieces are the same request");
  Require(whole.headers <= kMaxHeaders, "headers have a bound");
  Require(whole.refused == 0 || (whole.refused >= 400 && whole.refused < 600), "a refusal is one");
  return 0;
}
