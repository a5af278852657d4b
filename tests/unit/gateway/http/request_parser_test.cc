// However a request is cut into pieces, it is the same request.

#include "gateway/http/request_parser.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "common/strings.h"

namespace sandkeep::http {
namespace {

using Stage = RequestParser::Stage;

// As a connection does: what wasn't taken stands before what comes next.
Stage FeedInPieces(RequestParser& parser, std::string_view request, std::size_t piece) {
  std::string waiting;
  while (!request.empty() && parser.stage() != Stage::kRefused) {
    waiting.append(request.substr(0, piece));
    request.remove_prefix(std::min(piece, request.size()));
    for (std::size_t taken = 1; taken > 0 && !waiting.empty();) {
      taken = parser.Feed(waiting);
      waiting.erase(0, taken);
    }
  }
  return parser.stage();
}

constexpr std::string_view kHead =
    "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";

TEST(RequestParserTest, AChunkedBodyMayBeCutAnywhereAlsoBehindItsLastLine) {
  for (const std::string_view body : {"0\r\n\r\n", "000\r\n\r\n", "3\r\nabc\r\n0\r\n\r\n"}) {
    for (std::size_t piece = 1; piece < kHead.size() + body.size(); ++piece) {
      RequestParser parser;
      EXPECT_EQ(FeedInPieces(parser, StrCat(kHead, body), piece), Stage::kDone)
          << body << " in pieces of " << piece;
      EXPECT_EQ(parser.request().body, body.size() > 10 ? "abc" : "");
    }
  }
}

TEST(RequestParserTest, ATrailerIsRefusedHoweverItIsCut) {
  const std::string request = StrCat(kHead, "0\r\nX: y\r\n\r\n");
  for (std::size_t piece = 1; piece < request.size(); ++piece) {
    RequestParser parser;
    EXPECT_EQ(FeedInPieces(parser, request, piece), Stage::kRefused) << piece;
    EXPECT_EQ(parser.refusal().status, 400);
  }
}

TEST(RequestParserTest, ALengthIsANumberOfAtMost19Digits) {
  const auto stage = [](std::string_view length) {
    RequestParser parser;
    return FeedInPieces(
        parser, StrCat("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ", length, "\r\n\r\n"), 4096);
  };
  EXPECT_EQ(stage("0"), Stage::kDone);
  EXPECT_EQ(stage(std::string(19, '0')), Stage::kDone);
  EXPECT_EQ(stage("5"), Stage::kBody);
  for (const std::string& wrong :
       {std::string(20, '0'), std::string(36, '0'), StrCat(std::string(19, '0'), "5"),
        std::string("99999999999999999999"), std::string("+5"), std::string("0x5")}) {
    EXPECT_EQ(stage(wrong), Stage::kRefused) << wrong;
  }
}

}  // namespace
}  // namespace sandkeep::http
