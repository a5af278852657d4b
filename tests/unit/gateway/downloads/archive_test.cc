// What an archive promises before its bytes are there. That programs open it, tests/e2e sees.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "common/strings.h"
#include "gateway/downloads/archive_writer.h"

namespace sandkeep {
namespace {

using mcp::ArchiveFormat;
using testing::Eq;
using testing::HasSubstr;
using testing::Not;

constexpr std::size_t kBlock = 512;

std::string Begun(ArchiveFormat format, std::string_view name, std::int64_t size) {
  const auto writer = MakeArchiveWriter(format);
  std::string out;
  writer->BeginFile({.name = name, .size = size, .mode = 0640, .modified = absl::UnixEpoch()},
                    &out);
  return out;
}

// A field of a tar's header, up to its end.
std::string Field(const std::string& header, std::size_t at) { return header.c_str() + at; }

std::int64_t SumOf(std::string header) {
  header.replace(148, 8, "        ");
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < kBlock; ++i) sum += static_cast<unsigned char>(header[i]);
  return sum;
}

TEST(ArchiveNameTest, NothingInItIsAWayOut) {
  EXPECT_EQ(ArchiveName("a/b.txt"), "a/b.txt");
  EXPECT_EQ(ArchiveName("a\\..\\..\\b"), "a_.._.._b");
  EXPECT_EQ(ArchiveName("C:evil"), "C_evil");
  EXPECT_EQ(ArchiveName("new\nline\r\x1b[31m\x7f"), "new_line__[31m_");
  EXPECT_EQ(ArchiveName("caf\xE9"), "caf\xEF\xBF\xBD");
  EXPECT_EQ(ArchiveName("Übersicht 琥珀"), "Übersicht 琥珀");
}

TEST(TarWriterTest, AFileIsItsHeaderItsBytesAndWhatFillsTheBlock) {
  const auto writer = MakeArchiveWriter(ArchiveFormat::kTar);
  std::string out;
  writer->BeginFile(
      {.name = "d/a", .size = 600, .mode = 0100750, .modified = absl::FromUnixSeconds(77)}, &out);
  writer->Add(std::string(600, 'x'), &out);
  writer->EndFile(&out);
  ASSERT_EQ(out.size(), 3 * kBlock);
  EXPECT_EQ(Field(out, 0), "d/a");
  EXPECT_EQ(Field(out, 100), "0000750");
  EXPECT_EQ(Field(out, 124), "00000001130");
  EXPECT_EQ(Field(out, 136), "00000000115");
  EXPECT_EQ(std::strtol(Field(out, 148).c_str(), nullptr, 8), SumOf(out));
  EXPECT_EQ(out[156], '0');
  EXPECT_EQ(out.substr(257, 8), std::string("ustar\00000", 8));
  EXPECT_EQ(out[kBlock + 599], 'x');
  EXPECT_EQ(out[kBlock + 600], '\0');
  writer->AddFolder({.name = "d/e", .modified = absl::UnixEpoch()}, &out);
  EXPECT_EQ(Field(out, 3 * kBlock), "d/e/");
  EXPECT_EQ(out[3 * kBlock + 156], '5');
  writer->Finish(&out);
  EXPECT_EQ(out.size(), 6 * kBlock);
}

TEST(TarWriterTest, WhatHasNoPlaceInAHeaderStandsBeforeIt) {
  const std::string far = std::string(200, 'd') + "/x";
  const std::string name = Begun(ArchiveFormat::kTar, far, 1);
  ASSERT_EQ(name.size(), 3 * kBlock);
  EXPECT_EQ(name[156], 'x');
  EXPECT_EQ(name.substr(kBlock, 212), StrCat("212 path=", far, "\n"));
  EXPECT_THAT(Begun(ArchiveFormat::kTar, "Ü", 1), HasSubstr("11 path=Ü\n"));
  EXPECT_THAT(Begun(ArchiveFormat::kTar, "large", 9'000'000'000),
              HasSubstr("19 size=9000000000\n"));
  EXPECT_THAT(Begun(ArchiveFormat::kTar, "plain", 8'000'000'000), Not(HasSubstr("size=")));
}

TEST(TarWriterTest, TheLengthOfARecordCountsItsOwnDigits) {
  for (std::size_t bytes = 101; bytes < 1200; ++bytes) {
    const std::string name(bytes, 'n');
    const std::string header = Begun(ArchiveFormat::kTar, name, 0);
    const std::string record = Field(header, kBlock);
    const std::size_t end = record.find('\n') + 1;
    EXPECT_EQ(std::strtoul(record.c_str(), nullptr, 10), end) << bytes;
  }
}

}  // namespace
}  // namespace sandkeep
