// The sign-in page over real sockets: what it shows, whom it lets through, and where the browser
// goes then.

#include "tests/unit/gateway/oauth/oauth_fixture.h"

namespace sandkeep {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class SignInTest : public OauthFixture {
 protected:
  // The page that says what is wrong, and the link on it.
  void ExpectFault(const Fields& fields, std::string_view error) {
    const std::string page = Page(fields);
    EXPECT_EQ(RawClient::StatusOf(page), 400) << page;
    const std::string link = absl::StrReplaceAll(After(page, "href=\""), {{"&amp;", "&"}});
    EXPECT_THAT(link, StartsWith(StrCat(kRedirect, "?")));
    EXPECT_EQ(Parameter(link, "error"), error);
    EXPECT_EQ(Parameter(link, "iss"), Base());
    EXPECT_EQ(Parameter(link, "state"), "a state");
    EXPECT_THAT(page, Not(HasSubstr("http-equiv=\"refresh\"")))
        << "nobody is sent to an address that anybody may have registered";
  }
};

TEST_F(SignInTest, ThePageShowsWhoAsksWhereItGoesAndWhatFor) {
  StartServer();
  const std::string page = Page(Asking(Client()));
  EXPECT_EQ(RawClient::StatusOf(page), 200);
  EXPECT_EQ(HeaderOf(page, "Content-Type"), "text/html; charset=utf-8");
  EXPECT_THAT(page, HasSubstr("An App"));
  EXPECT_THAT(page, HasSubstr("app.example.com"));
  EXPECT_THAT(page, HasSubstr("(sandbox)"));
  EXPECT_THAT(page, HasSubstr("(offline_access)"));
  EXPECT_THAT(page, Not(HasSubstr("Did you just start")));
  const std::string policy = HeaderOf(page, "Content-Security-Policy");
  EXPECT_THAT(policy, AllOf(HasSubstr("default-src 'none'"), HasSubstr("frame-ancestors 'none'"),
                            HasSubstr("form-action 'self'"), Not(HasSubstr("sandbox"))));
  EXPECT_EQ(HeaderOf(page, "X-Frame-Options"), "DENY");
  EXPECT_EQ(HeaderOf(page, "Cache-Control"), "no-store");
  EXPECT_EQ(HeaderOf(page, "Referrer-Policy"), "same-origin");
}

TEST_F(SignInTest, AClientOnThisDeviceComesWithAWarning) {
  StartServer();
  for (const char* redirect : {"http://127.0.0.1:7/cb", "cursor://x/y"}) {
    EXPECT_THAT(Page(Asking(Client(redirect), redirect)), HasSubstr("Did you just start"));
  }
}

TEST_F(SignInTest, TheCookieIsHostOnlyOverHttpsAndPlainOnLoopback) {
  names_.public_base = "https://box.example.com";
  StartServer();
  const std::string query = Encode(Asking(Client()));
  const std::string page = Ask(
      StrCat("GET /authorize?",
             absl::StrReplaceAll(query, {{PercentEncode(Resource(), false),
                                          PercentEncode("https://box.example.com/mcp", false)}}),
             " HTTP/1.1\r\nHost: box.example.com\r\n\r\n"));
  ASSERT_EQ(RawClient::StatusOf(page), 200) << page;
  EXPECT_THAT(HeaderOf(page, "Set-Cookie"),
              AllOf(StartsWith("__Host-sandkeep-sign-in="), HasSubstr("; Secure"),
                    HasSubstr("; HttpOnly"), HasSubstr("; SameSite=Lax"), HasSubstr("; Path=/")));
}

TEST_F(SignInTest, OnLoopbackTheCookieHasAPlainName) {
  StartServer();
  EXPECT_THAT(
      HeaderOf(Page(Asking(Client())), "Set-Cookie"),
      AllOf(StartsWith("sandkeep-sign-in="), HasSubstr("; HttpOnly"), Not(HasSubstr("Secure"))));
}

TEST_F(SignInTest, AllowSendsTheBrowserBackWithCodeStateAndIssuer) {
  StartServer();
  const std::string page = Press(Page(Asking(Client())), StrCat("  ", key_, "\n"));
  EXPECT_EQ(RawClient::StatusOf(page), 200) << page;
  const std::string target = Target(page);
  EXPECT_THAT(target, StartsWith(StrCat(kRedirect, "?code=")));
  EXPECT_EQ(Parameter(target, "state"), "a state");
  EXPECT_EQ(Parameter(target, "iss"), Base());
  EXPECT_EQ(Parameter(target, "code").size(), 43u);
}

TEST_F(SignInTest, ARedirectWithAQueryOrAnotherPortKeepsIt) {
  StartServer();
  const std::string with_query = "https://app.example.com/cb?tenant=1";
  std::string page = Press(Page(Asking(Client(with_query), with_query)), key_);
  EXPECT_THAT(Target(page), StartsWith(StrCat(with_query, "&code=")));
  const std::string registered = Client("http://localhost:3000/cb");
  page = Press(Page(Asking(registered, "http://localhost:4000/cb")), key_);
  EXPECT_THAT(Target(page), StartsWith("http://localhost:4000/cb?code="));
}

TEST_F(SignInTest, AClientWithoutStateGetsNone) {
  StartServer();
  Fields asking = Asking(Client());
  asking.erase("state");
  EXPECT_THAT(Target(Press(Page(asking), key_)), Not(HasSubstr("state=")));
}

TEST_F(SignInTest, DenySendsTheBrowserBackWithoutACode) {
  StartServer();
  const std::string page = Press(Page(Asking(Client())), "", "deny");
  const std::string target = Target(page);
  EXPECT_EQ(Parameter(target, "error"), "access_denied");
  EXPECT_EQ(Parameter(target, "iss"), Base());
  EXPECT_THAT(target, Not(HasSubstr("code=")));
}

TEST_F(SignInTest, AWrongKeyIsToldAndCanBeTriedAgain) {
  StartServer();
  const std::string page = Press(Page(Asking(Client())), "sk-wrong");
  EXPECT_EQ(RawClient::StatusOf(page), 403);
  EXPECT_THAT(page, HasSubstr("role=\"alert\""));
  EXPECT_THAT(page, Not(HasSubstr("sk-wrong")));
  EXPECT_EQ(RawClient::StatusOf(Press(page, key_)), 200);
}

TEST_F(SignInTest, ManyWrongKeysSlowDownNobodyWhoHasTheRightOne) {
  StartServer();
  const std::string page = Page(Asking(Client()));
  int refused = 0;
  for (int i = 0; i < 20; ++i) {
    if (RawClient::StatusOf(Press(page, StrCat("sk-", i))) == 429) ++refused;
  }
  EXPECT_EQ(refused, 15);
  const std::string answer = Press(page, "sk-more");
  EXPECT_EQ(RawClient::StatusOf(answer), 429);
  EXPECT_EQ(HeaderOf(answer, "Retry-After"), "12");
  EXPECT_THAT(Target(Press(page, key_)), HasSubstr("code="));
  clock_.Advance(absl::Seconds(12));
  EXPECT_EQ(RawClient::StatusOf(Press(page, "sk-again")), 403);
}

TEST_F(SignInTest, AFormOfAnotherBrowserOrSiteIsRefused) {
  StartServer();
  const std::string mine = Page(Asking(Client()));
  const std::string theirs = Page(Asking(Client()));
  ASSERT_NE(CookieOf(mine), CookieOf(theirs));
  const Fields fields = {{"request", After(theirs, "name=\"request\" value=\"")},
                         {"token", After(theirs, "name=\"token\" value=\"")},
                         {"key", key_},
                         {"decision", "allow"}};
  const std::string origin = StrCat("Origin: ", Base(), "\r\n");
  const auto status = [&](const std::string& headers) {
    return RawClient::StatusOf(PostForm("/authorize", fields, headers));
  };
  EXPECT_EQ(status(StrCat("Cookie: ", CookieOf(mine), "\r\n", origin)), 400);
  EXPECT_EQ(status(origin), 400) << "no cookie at all";
  EXPECT_EQ(status(StrCat("Cookie: ", CookieOf(theirs), "\r\nOrigin: https://evil.example\r\n")),
            403);
  EXPECT_EQ(status(StrCat("Cookie: a=b; ", CookieOf(theirs), "; c=d\r\n", origin)), 200);
  EXPECT_EQ(RawClient::StatusOf(PostForm("/authorize", {{"decision", "allow"}})), 400);
}

TEST_F(SignInTest, ASecondTabDoesntEndTheFirst) {
  StartServer();
  const std::string first = Page(Asking(Client()));
  const std::string second = Page(Asking(Client()), StrCat("Cookie: ", CookieOf(first), "\r\n"));
  EXPECT_EQ(CookieOf(second), CookieOf(first));
  EXPECT_THAT(Target(Press(first, key_)), HasSubstr("code="));
}

TEST_F(SignInTest, AnOldFormIsOver) {
  StartServer();
  const std::string page = Page(Asking(Client()));
  clock_.Advance(absl::Minutes(10));
  EXPECT_EQ(RawClient::StatusOf(Press(page, key_)), 400);
}

TEST_F(SignInTest, AnUnknownClientOrRedirectIsNeverSentAnywhere) {
  StartServer();
  const std::string client = Client();
  std::vector<Fields> cases = {Asking("unknown"), Asking(client + "A"), Asking("")};
  for (const std::string& redirect :
       {StrCat(kRedirect, "/"), StrCat(kRedirect, "x"),
        std::string("https://app.example.com/callbac"),
        std::string("http://app.example.com/callback"),
        std::string("https://evil.example.com/callback"), std::string("javascript:alert(1)")}) {
    cases.push_back(Asking(client, redirect));
  }
  for (const Fields& fields : cases) {
    const std::string page = Page(fields);
    EXPECT_EQ(RawClient::StatusOf(page), 400);
    EXPECT_THAT(page, Not(HasSubstr("href=")));
    EXPECT_THAT(page, Not(HasSubstr("refresh")));
    EXPECT_THAT(page, Not(HasSubstr("\r\nLocation")));
  }
  const std::string twice = Ask(Get(StrCat("/authorize?", Encode(Asking(client)), "&client_id=x")));
  EXPECT_EQ(RawClient::StatusOf(twice), 400);
}

TEST_F(SignInTest, TheOnlyRedirectNeedNotBeNamed) {
  StartServer();
  Fields asking = Asking(Client());
  asking.erase("redirect_uri");
  EXPECT_THAT(Target(Press(Page(asking), key_)), StartsWith(kRedirect));
}

TEST_F(SignInTest, PkceMissingPlainOrMisshapenIsRefused) {
  StartServer();
  const Fields good = Asking(Client());
  Fields fields = good;
  fields.erase("code_challenge");
  ExpectFault(fields, "invalid_request");
  fields = good;
  fields.erase("code_challenge_method");
  ExpectFault(fields, "invalid_request");
  for (const char* method : {"plain", "s256", "S512"}) {
    fields = good;
    fields["code_challenge_method"] = method;
    ExpectFault(fields, "invalid_request");
  }
  for (const std::string& challenge :
       {std::string("short"), std::string(42, 'a'), std::string(44, 'a'), std::string(43, '!')}) {
    fields = good;
    fields["code_challenge"] = challenge;
    ExpectFault(fields, "invalid_request");
  }
}

TEST_F(SignInTest, OtherResponseTypesAndResourcesAreRefused) {
  StartServer();
  const Fields good = Asking(Client());
  Fields fields = good;
  fields["response_type"] = "token";
  ExpectFault(fields, "unsupported_response_type");
  fields.erase("response_type");
  ExpectFault(fields, "invalid_request");
  fields = good;
  fields["resource"] = "https://other.example.com/mcp";
  ExpectFault(fields, "invalid_target");
}

TEST_F(SignInTest, NothingThatAClientNamesItselfCanBecomeMarkup) {
  StartServer();
  for (const char* name : {R"(<script>alert(1)<\/script>)", R"(\"><img src=x onerror=alert(1)>)",
                           R"(' autofocus=')", R"(\u202Egnp.exe)"}) {
    const std::string answer = RegisterJson(
        StrCat(R"({"redirect_uris":["https://app.example.com/callback"],"client_name":")", name,
               R"(","token_endpoint_auth_method":"none"})"));
    ASSERT_EQ(RawClient::StatusOf(answer), 201) << answer;
    Fields asking = Asking(Text(JsonOf(answer), "client_id"));
    asking["state"] = "\"><script>alert(2)</script>";
    asking["scope"] = "<script>alert(3)</script>";
    const std::string page = Page(asking);
    const std::string back = Press(page, key_);
    asking["code_challenge_method"] = "\"><script>alert(4)</script>";
    for (const std::string& html : {page, back, Press(page, "\"><script>alert(5)</script>"),
                                    Page(asking), Press(page, "", "deny")}) {
      EXPECT_THAT(html, Not(HasSubstr("<script")));
      EXPECT_THAT(html, Not(HasSubstr("<img")));
      EXPECT_THAT(html, Not(HasSubstr("' autofocus")));
    }
    EXPECT_EQ(Parameter(Target(back), "state"), asking["state"]);
  }
}

TEST_F(SignInTest, LookingAtPagesAndRegisteringWritesNothing) {
  StartServer();
  Database db = *OpenGatewayDatabase(folder_);
  const std::int64_t before = *db.DataVersion();
  for (int i = 0; i < 5; ++i) Page(Asking(Client()));
  EXPECT_EQ(*db.DataVersion(), before);
  CodeFor(Asking(Client()));
  EXPECT_NE(*db.DataVersion(), before) << "a row at the first consent";
}

TEST_F(SignInTest, AFloodOfRegistrationsIsSlowedDown) {
  StartServer();
  int refused = 0;
  for (int i = 0; i < 70; ++i) {
    const std::string answer = RegisterJson(R"({"redirect_uris":["https://a.example/"]})");
    if (RawClient::StatusOf(answer) == 429) ++refused;
  }
  EXPECT_EQ(refused, 10);
  clock_.Advance(absl::Seconds(1));
  EXPECT_EQ(RawClient::StatusOf(RegisterJson(R"({"redirect_uris":["https://a.example/"]})")), 201);
}

}  // namespace
}  // namespace sandkeep
