// The pages by themselves: whatever stands in a field, it stays text.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/escaping.h"
#include "common/digest.h"
#include "common/strings.h"
#include "gateway/pages/markup.h"
#include "gateway/pages/page.h"
#include "gateway/pages/sign_in.h"

namespace sandkeep {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr std::string_view kHostile[] = {
    "<script>alert(1)</script>",
    "\"><img src=x onerror=alert(1)>",
    "' onfocus=alert(1) autofocus='",
    "</title><script>alert(1)</script>",
    "</style><script>alert(1)</script>",
    "<!--",
    "&lt;script&gt;",
    "javascript:alert(1)",
    "\xF0\x9F\x98\x80 <b>bold</b> \xFF\xFE",
    {"a\0b<script>", 11},
    ("\xE2\x80\xAE"
     "evil"),
};

// What a page says with no hostile field; a hostile one may add text, but no tag and no attribute.
std::size_t Tags(std::string_view html) {
  return static_cast<std::size_t>(std::count(html.begin(), html.end(), '<'));
}
std::size_t Quotes(std::string_view html) {
  return static_cast<std::size_t>(std::count(html.begin(), html.end(), '"'));
}

void ExpectSameMarkup(const std::string& plain, const std::string& hostile) {
  EXPECT_EQ(Tags(plain), Tags(hostile)) << hostile;
  EXPECT_EQ(Quotes(plain), Quotes(hostile)) << hostile;
  EXPECT_THAT(hostile, Not(HasSubstr("<script")));
  EXPECT_THAT(hostile, Not(HasSubstr("<img")));
  EXPECT_THAT(hostile, Not(HasSubstr("' onfocus")));
}

TEST(Pages, NoFieldOfTheSignInPageCanBecomeMarkup) {
  const SignInView plain{.client_name = "x",
                         .redirect_target = "x",
                         .local_client = true,
                         .scopes = {"x"},
                         .request = "x",
                         .token = "x",
                         .problem = "x"};
  const std::string expected = SignInPage(plain);
  for (const std::string_view hostile : kHostile) {
    const std::string text(hostile);
    for (const auto member : {&SignInView::client_name, &SignInView::redirect_target,
                              &SignInView::request, &SignInView::token, &SignInView::problem}) {
      SignInView view = plain;
      view.*member = text;
      ExpectSameMarkup(expected, SignInPage(view));
    }
    SignInView view = plain;
    view.scopes = {text};
    ExpectSameMarkup(expected, SignInPage(view));
  }
}

TEST(Pages, NoFieldOfTheOtherPagesCanBecomeMarkup) {
  for (const std::string_view hostile : kHostile) {
    const std::string text(hostile);
    ExpectSameMarkup(MessagePage("x", "x", "x", "x"), MessagePage(text, "x", "x", "x"));
    ExpectSameMarkup(MessagePage("x", "x", "x", "x"), MessagePage("x", text, "x", "x"));
    ExpectSameMarkup(MessagePage("x", "x", "x", "x"), MessagePage("x", "x", text, "x"));
    ExpectSameMarkup(MessagePage("x", "x", "x", "x"), MessagePage("x", "x", "x", text));
    for (const bool allowed : {false, true}) {
      ExpectSameMarkup(ReturnPage("x", "x", allowed), ReturnPage(text, "x", allowed));
      ExpectSameMarkup(ReturnPage("x", "x", allowed), ReturnPage("x", text, allowed));
    }
  }
}

TEST(Pages, EscapingIsWhole) {
  EXPECT_EQ(EscapeHtml("a&b<c>d\"e'f"), "a&amp;b&lt;c&gt;d&quot;e&#39;f");
  EXPECT_EQ(EscapeHtml(std::string_view("a\0b\x1F\x7F\n", 6)),
            "a\xEF\xBF\xBD"
            "b\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_EQ(EscapeHtml("\xC3("), "\xEF\xBF\xBD(");
  EXPECT_EQ(EscapeHtml("Zoë 😀"), "Zoë 😀");
}

TEST(Pages, ThePolicyAllowsTheOneStyleAndNothingElse) {
  const std::string page = MessagePage("a", "b");
  const std::size_t begin = page.find("<style>") + 7;
  const std::string style = page.substr(begin, page.find("</style>") - begin);
  EXPECT_THAT(PagePolicy(), HasSubstr("default-src 'none'"));
  EXPECT_THAT(PagePolicy(),
              HasSubstr(StrCat("style-src 'sha256-", absl::Base64Escape(Sha256(style)), "'")));
  EXPECT_THAT(PagePolicy(), HasSubstr("form-action 'self'"));
  EXPECT_THAT(PagePolicy(), HasSubstr("frame-ancestors 'none'"));
  EXPECT_THAT(PagePolicy(), HasSubstr("base-uri 'none'"));
  EXPECT_THAT(page, Not(HasSubstr("style=")));
  EXPECT_THAT(page, Not(HasSubstr("<script")));
}

TEST(Pages, TheSignInPageSaysEverythingToAScreenReader) {
  SignInView view{.client_name = "An App",
                  .redirect_target = "app.example.com",
                  .local_client = false,
                  .scopes = {"sandbox"},
                  .request = "r",
                  .token = "t",
                  .problem = ""};
  const std::string page = SignInPage(view);
  EXPECT_THAT(page, HasSubstr("<html lang=\"en\">"));
  EXPECT_THAT(page, HasSubstr("<label for=\"key\">"));
  EXPECT_THAT(page, HasSubstr("aria-describedby=\"hint\""));
  EXPECT_THAT(page, HasSubstr("<main>"));
  EXPECT_THAT(page, Not(HasSubstr("role=\"alert\"")));
  EXPECT_THAT(page, Not(HasSubstr("Did you just start")));
  view.problem = "wrong";
  view.local_client = true;
  const std::string again = SignInPage(view);
  EXPECT_THAT(again, HasSubstr("role=\"alert\""));
  EXPECT_THAT(again, HasSubstr("aria-invalid=\"true\""));
  EXPECT_THAT(again, HasSubstr("Did you just start"));
}

}  // namespace
}  // namespace sandkeep
