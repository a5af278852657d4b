// What a browser is told about a file: its range, its name, its type.

#include "gateway/downloads/presentation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/strings.h"
#include "gateway/downloads/byte_range.h"
#include "gateway/downloads/mime_types.h"

namespace sandkeep {
namespace {

using Kind = ByteRange::Kind;
using testing::HasSubstr;
using testing::StartsWith;

struct RangeCase {
  const char* header;
  std::int64_t size;
  Kind kind;
  std::int64_t first = 0;
  std::int64_t last = -1;
};

TEST(ByteRangeTest, Table) {
  const RangeCase cases[] = {
      {"bytes=0-0", 10, Kind::kPart, 0, 0},
      {"bytes=0-", 10, Kind::kPart, 0, 9},
      {"bytes=9-9", 10, Kind::kPart, 9, 9},
      {"bytes=5-100", 10, Kind::kPart, 5, 9},
      {"Bytes=5-100", 10, Kind::kPart, 5, 9},
      {"bytes=-3", 10, Kind::kPart, 7, 9},
      {"bytes=-100", 10, Kind::kPart, 0, 9},
      {"bytes=0-99999999999999999999999", 10, Kind::kPart, 0, 9},
      {"bytes=10-", 10, Kind::kUnsatisfiable},
      {"bytes=99999999999999999999999-", 10, Kind::kUnsatisfiable},
      {"bytes=-0", 10, Kind::kUnsatisfiable},
      {"bytes=0-", 0, Kind::kUnsatisfiable},
      {"bytes=-1", 0, Kind::kUnsatisfiable},
      {"bytes=4-3", 10, Kind::kWhole},
      {"bytes=0-1,3-4", 10, Kind::kWhole},
      {"bytes=", 10, Kind::kWhole},
      {"bytes=-", 10, Kind::kWhole},
      {"bytes=a-b", 10, Kind::kWhole},
      {"bytes=+1-2", 10, Kind::kWhole},
      {"bytes= 1-2", 10, Kind::kPart, 1, 2},
      {"bytes=1 -2", 10, Kind::kWhole},
      {"bytes=--1", 10, Kind::kWhole},
      {"lines=1-2", 10, Kind::kWhole},
      {"", 10, Kind::kWhole},
  };
  for (const RangeCase& c : cases) {
    const ByteRange range = ByteRange::Parse(c.header, c.size);
    EXPECT_EQ(range.kind, c.kind) << c.header << " of " << c.size;
    if (c.kind != Kind::kPart) continue;
    EXPECT_EQ(range.first, c.first) << c.header;
    EXPECT_EQ(range.last, c.last) << c.header;
  }
}

TEST(ContentDispositionTest, NamesInSeveralScripts) {
  EXPECT_EQ(ContentDisposition("inline", "a b.txt"), R"(inline; filename="a b.txt")");
  EXPECT_EQ(ContentDisposition("attachment", "größe.pdf"),
            R"(attachment; filename="größe.pdf"; filename*=UTF-8''gr%C3%B6%C3%9Fe.pdf)");
  EXPECT_EQ(ContentDisposition("attachment", "报告.xlsx"),
            R"(attachment; filename="报告.xlsx"; filename*=UTF-8''%E6%8A%A5%E5%91%8A.xlsx)");
  EXPECT_THAT(ContentDisposition("attachment", "отчёт.csv"), HasSubstr("filename*=UTF-8''%D0"));
  EXPECT_THAT(ContentDisposition("attachment", "دفتر.txt"),
              HasSubstr("filename=\"دفتر.txt\"; filename*="));
  EXPECT_THAT(ContentDisposition("attachment", "😀.png"),
              HasSubstr("filename=\"😀.png\"; filename*="));
}

TEST(ContentDispositionTest, NoNameLeavesItsQuotes) {
  EXPECT_EQ(ContentDisposition("inline", "a\"; x=\"b"),
            R"(inline; filename="a_; x=_b"; filename*=UTF-8''a%22%3B%20x%3D%22b)");
  EXPECT_EQ(ContentDisposition("inline", "a\\b%20c"),
            R"(inline; filename="a_b%20c"; filename*=UTF-8''a%5Cb%2520c)");
  const std::string broken = ContentDisposition("inline", "a\r\nSet-Cookie: x\xFF");
  EXPECT_EQ(broken.find('\r'), std::string::npos);
  EXPECT_EQ(broken.find('\n'), std::string::npos);
  EXPECT_EQ(broken.find('\xFF'), std::string::npos);
}

TEST(ContentDispositionTest, ALongNameKeepsItsEndingAndWholeCharacters) {
  const std::string plain = ContentDisposition("inline", std::string(251, 'a') + ".bin");
  EXPECT_EQ(plain, StrCat("inline; filename=\"", std::string(226, 'a'), ".bin\""));
  std::string name;
  for (int i = 0; i < 83; ++i) name += "琥";
  const std::string wide = ContentDisposition("inline", name + ".gz");
  EXPECT_THAT(wide, HasSubstr(StrCat("=\"", name.substr(0, 225), ".gz\";")));
  EXPECT_THAT(ContentDisposition("inline", "." + std::string(254, 'b')),
              HasSubstr(StrCat("\".", std::string(229, 'b'), "\"")));
}

TEST(PresentationTest, OnlyWhatCannotActIsShownInPlace) {
  for (const char* type : {"image/png", "image/jpeg", "text/plain", "audio/mpeg", "video/mp4"}) {
    EXPECT_THAT(PresentAs("f", type).content_disposition, StartsWith("inline")) << type;
  }
  for (const char* type : {"text/html", "image/svg+xml", "application/xhtml+xml", "text/xml",
                           "application/pdf", "text/javascript", "application/octet-stream"}) {
    EXPECT_THAT(PresentAs("f", type).content_disposition, StartsWith("attachment")) << type;
  }
}

TEST(MimeTypesTest, KnowsTheCommonOnesWithoutTheFile) {
  const MimeTypes types = MimeTypes::Load("/nonexistent");
  EXPECT_EQ(types.Of("a/b.c/plot.PNG"), "image/png");
  EXPECT_EQ(types.Of("notes.txt"), "text/plain");
  EXPECT_EQ(types.Of("x.svg"), "image/svg+xml");
  EXPECT_EQ(types.Of("Makefile"), "application/octet-stream");
  EXPECT_EQ(types.Of("a.png/data"), "application/octet-stream");
  EXPECT_EQ(types.Of("trailing."), "application/octet-stream");
  EXPECT_EQ(types.Of(""), "application/octet-stream");
}

}  // namespace
}  // namespace sandkeep
