// The folder's page by itself: whatever a name is, it stays text and looks like what it is.

#include "gateway/pages/folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "common/strings.h"
#include "gateway/pages/markup.h"

namespace sandkeep {
namespace {

using testing::HasSubstr;
using testing::Not;

FolderPageView ViewOf(const std::string& name) {
  FolderPageView view{.name = name,
                      .entries = {},
                      .summary = "1 file of 10 bytes",
                      .left_out = {},
                      .ending = ".zip",
                      .other_href = "/dl/x.tar",
                      .other_ending = ".tar",
                      .until = absl::FromUnixSeconds(1'700'000'000)};
  view.entries.push_back(
      {.name = name, .href = "/dl/x", .folder = false, .size = "10 bytes", .changed = {}});
  view.entries.push_back({.name = name, .href = "", .folder = true, .size = name, .changed = {}});
  return view;
}

std::ptrdiff_t Count(std::string_view text, char c) {
  return std::count(text.begin(), text.end(), c);
}

TEST(FolderPage, NoNameCanBecomeMarkup) {
  const std::string plain = FolderPage(ViewOf("x"));
  for (const std::string& name :
       {std::string("<script>alert(1)</script>"), std::string("\"><img src=x onerror=alert(1)>"),
        std::string("' onfocus=alert(1) autofocus='"), std::string("</title><script>"),
        std::string("</bdi></a><a href=//evil>"), std::string("<!--"), std::string("a\0b<", 4),
        std::string("\xFF\xFE<"), std::string("\xC3<b>"), std::string("\xE2\x80<b>")}) {
    const std::string page = FolderPage(ViewOf(name));
    EXPECT_EQ(Count(page, '<'), Count(plain, '<')) << name;
    EXPECT_EQ(Count(page, '"'), Count(plain, '"')) << name;
  }
}

TEST(FolderPage, ANameThatTurnsItsEndingAroundIsSeenThrough) {
  EXPECT_EQ(ShownName("rtl\xE2\x80\xAEgpj.exe"), "rtl\xEF\xBF\xBDgpj.exe");
  EXPECT_EQ(ShownName("\xE2\x81\xA7x\xE2\x81\xA9"), "\xEF\xBF\xBDx\xEF\xBF\xBD");
  for (const std::string_view none : {"\xC2\xAD", "\xE2\x80\x8B", "\xE2\x81\xA0", "\xEF\xBB\xBF"}) {
    EXPECT_EQ(ShownName(StrCat("report", none, ".pdf")), "report\xEF\xBF\xBD.pdf");
  }
  EXPECT_EQ(ShownName("a\xE2\x80\xA8z"), "a\xEF\xBF\xBDz");
  EXPECT_EQ(ShownName("a\nb\x7F\xC2\x85z"),
            "a\xEF\xBF\xBD"
            "b\xEF\xBF\xBD\xEF\xBF\xBDz");
  EXPECT_EQ(ShownName("caf\xE9"), "caf\xEF\xBF\xBD");
  FolderPageView view = ViewOf("rtl\xE2\x80\xAEgpj.exe");
  view.entries.back().size = "Folder";
  EXPECT_THAT(FolderPage(view), Not(HasSubstr("\xE2\x80\xAE")));
}

TEST(FolderPage, NamesInOtherScriptsStayAsTheyAre) {
  // Hebrew, a mark that its writers need, a family of four joined into one, a no-break blank.
  for (const char* name : {"שלום.txt", "א\u200F(ב).txt", "👨‍👩‍👧‍👦.png",
                           "a\u00A0z", "琥珀", "™ … –", "ÀÿĀ"}) {
    EXPECT_EQ(ShownName(name), name);
  }
}

TEST(FolderPage, ANameOfBlanksIsSomethingToClickOn) {
  EXPECT_EQ(ShownName("  "), "“  ”");
  EXPECT_EQ(ShownName(" a"), " a");
}

TEST(FolderPage, WhatIsUnlinkedHasNoLink) {
  const std::string page = FolderPage(ViewOf("x"));
  EXPECT_THAT(
      page,
      HasSubstr(
          "<li class=\"file\"><a class=\"name\" href=\"/dl/x\"><bdi dir=\"ltr\">x</bdi></a>"));
  EXPECT_THAT(
      page,
      HasSubstr(
          "<li class=\"folder unlinked\"><span class=\"name\"><bdi dir=\"ltr\">x</bdi></span>"));
  EXPECT_THAT(page, HasSubstr("work until <time datetime=\"2023-11-14T22:13Z\">"));
}

}  // namespace
}  // namespace sandkeep
