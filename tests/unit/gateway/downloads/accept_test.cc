// Who gets a page of a folder, and who the folder itself, by what clients really send.

#include "gateway/downloads/accept.h"

#include <gtest/gtest.h>

namespace sandkeep {
namespace {

constexpr const char* kChromium =
    "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,"
    "*/*;q=0.8,application/signed-exchange;v=b3;q=0.7";

TEST(PrefersPage, BrowsersInWhichAPersonGoesThere) {
  for (const char* accept :
       {// Then Firefox and Safari, w3m, lynx.
        kChromium, "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
        "text/html, text/*;q=0.5, image/*, application/*;q=0.4, */*;q=0.1",
        "text/html, text/plain, text/css, text/sgml, */*;q=0.01", "text/html", "Text/HTML ; Q=0.5",
        "text/html;charset=utf-8, ,*/*;q=0.999", "*/*;q=0, text/html;q=0.001"}) {
    EXPECT_TRUE(PrefersPage(accept)) << accept;
  }
}

TEST(PrefersPage, ProgramsThatTakeAnythingGetTheFolder) {
  for (const char* accept :
       {"", "*/*", "application/zip", "application/json, text/event-stream",
        "application/json, */*;q=0.5", "image/avif,image/webp,*/*;q=0.8", "text/*", "text/plain",
        "text/html;q=0", "text/html;q=0.8, */*", "text/html, */*", "text/html, application/zip",
        "text/html;q=0.5, application/*;q=0.6", "application/octet-stream, text/html;q=0.9"}) {
    EXPECT_FALSE(PrefersPage(accept)) << accept;
  }
}

TEST(PrefersPage, WhatIsNoSuchHeaderIsAProgramsAsJavasWas) {
  for (const char* accept :
       {"text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2", "text/html;q=.9", "text/html;q=2",
        "text/html;q=1.001", "text/html;q=0.1234", "text/html;q=", "text/html;q=-1",
        "text/html;q=nan", "text", "text/html/x", ";q=1", "text/html, ;"}) {
    EXPECT_FALSE(PrefersPage(accept)) << accept;
  }
}

}  // namespace
}  // namespace sandkeep
