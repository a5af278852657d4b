// The authorization server's parts by themselves: what a redirect may be, what a form is, what a
// client_id holds, and what a client may register.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/escaping.h"
#include "common/digest.h"
#include "common/limits.h"
#include "common/random.h"
#include "common/strings.h"
#include "gateway/oauth/client.h"
#include "gateway/oauth/form.h"
#include "gateway/oauth/pkce.h"
#include "gateway/oauth/redirect_uri.h"
#include "gateway/oauth/registration.h"
#include "gateway/oauth/resource.h"
#include "gateway/oauth/sealed_request.h"
#include "gateway/oauth/source_limit.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fakes/fake_random.h"

namespace sandkeep::oauth {
namespace {

using testing::ElementsAre;

TEST(RedirectUri, WhatAClientMayRegister) {
  for (const char* uri :
       {"https://claude.ai/api/mcp/auth_callback", "https://app.example.com:8443/cb?x=1",
        "http://127.0.0.1:54321/callback", "http://localhost/callback", "http://[::1]:1/cb",
        "http://LOCALHOST:1/cb", "cursor://anysphere.cursor-mcp/oauth/callback",
        "vscode://vscode.github-authentication/did-authenticate", "com.example.app:/callback",
        "flowdown://oauth"}) {
    EXPECT_TRUE(CheckRedirectUri(uri).ok()) << uri << ": " << CheckRedirectUri(uri);
  }
  for (const char* uri : {"",
                          "/callback",
                          "app.example.com/cb",
                          "http://app.example.com/cb",
                          "http://127.0.0.1.example.com/cb",
                          "http://localhost.example.com/cb",
                          "http://127.0.0.2/cb",
                          "https:///cb",
                          "https://user@app.example.com/cb",
                          "https://app.example.com@evil.example.com/",
                          "https://app.example.com/cb#part",
                          "javascript:alert(1)",
                          "JavaScript://app.example.com/%0Aalert(1)",
                          "data:text/html,x",
                          "DATA://x/y",
                          "file:///etc/passwd",
                          "vbscript://x",
                          "blob:https://x/y",
                          "view-source:https://x/",
                          "about:blank",
                          "ms-msdt:/id",
                          "search-ms:/query",
                          "intent://x/#Intent;end",
                          "mailto:a@example.com",
                          "urn:ietf:wg:oauth:2.0:oob",
                          "https://app.example.com/c b",
                          "https://app.example.com/\"><script>",
                          "https://app.example.com/\r\nX: y",
                          "https://app.example.com\\@evil.example.com/"}) {
    EXPECT_FALSE(CheckRedirectUri(uri).ok()) << uri;
  }
  EXPECT_FALSE(
      CheckRedirectUri(StrCat("https://x.example/", std::string(kMaxRedirectUriBytes, 'a'))).ok());
}

TEST(RedirectUri, OffByOneByteIsAnother) {
  const std::string registered = "https://app.example.com/callback?a=b";
  ASSERT_TRUE(RedirectMatches(registered, registered));
  for (std::size_t i = 0; i < registered.size(); ++i) {
    std::string changed = registered;
    changed[i] = static_cast<char>(changed[i] + 1);
    EXPECT_FALSE(RedirectMatches(registered, changed)) << changed;
    std::string shorter = registered;
    shorter.erase(i, 1);
    EXPECT_FALSE(RedirectMatches(registered, shorter)) << shorter;
    std::string longer = registered;
    longer.insert(i, 1, 'x');
    EXPECT_FALSE(RedirectMatches(registered, longer)) << longer;
  }
  EXPECT_FALSE(RedirectMatches(registered, registered + "/"));
  EXPECT_FALSE(RedirectMatches(registered, "HTTPS://app.example.com/callback?a=b"));
}

TEST(RedirectUri, OnLoopbackThePortIsFreeAndNothingElse) {
  const std::string registered = "http://127.0.0.1:1000/callback";
  EXPECT_TRUE(RedirectMatches(registered, "http://127.0.0.1:54321/callback"));
  EXPECT_TRUE(RedirectMatches(registered, "http://127.0.0.1/callback"));
  EXPECT_TRUE(RedirectMatches("http://localhost/callback", "http://localhost:7/callback"));
  EXPECT_TRUE(RedirectMatches("http://[::1]/cb", "http://[::1]:7/cb"));
  for (const char* given :
       {"http://127.0.0.1:54321/callback/", "http://127.0.0.1:54321/callbacK",
        "http://localhost:1000/callback", "https://127.0.0.1:1000/callback",
        "http://127.0.0.1:1000/callback?x=1", "http://127.0.0.1:1000/callback#x",
        "http://user@127.0.0.1:1000/callback", "http://127.0.0.1:1000@evil.example.com/callback",
        "http://127.0.0.1.evil.example.com:1000/callback"}) {
    EXPECT_FALSE(RedirectMatches(registered, given)) << given;
  }
  EXPECT_FALSE(RedirectMatches("https://app.example.com:1/cb", "https://app.example.com:2/cb"));
}

TEST(RedirectUri, ThePersonSeesWhereItGoes) {
  EXPECT_EQ(RedirectTarget("https://app.example.com:8443/cb"), "app.example.com:8443");
  EXPECT_EQ(RedirectTarget("http://127.0.0.1:7/cb"), "127.0.0.1:7 (this device)");
  EXPECT_EQ(RedirectTarget("cursor://x/y"), "cursor: (an app on this device)");
  EXPECT_FALSE(IsLocalRedirect("https://app.example.com/cb"));
  EXPECT_TRUE(IsLocalRedirect("http://localhost/cb"));
  EXPECT_TRUE(IsLocalRedirect("cursor://x/y"));
}

TEST(Form, DecodesAndRefusesWhatHasTwoReadings) {
  const auto form = Form::Parse("a=b%20c+d&e=&f&resource=1&g=%C3%A9&resource=2&&");
  ASSERT_TRUE(form.ok()) << form.status();
  EXPECT_EQ(form->Get("a"), "b c d");
  EXPECT_EQ(form->Get("e"), "");
  EXPECT_EQ(form->Get("f"), "");
  EXPECT_EQ(form->Get("g"), "é");
  EXPECT_EQ(form->Get("none"), "");
  EXPECT_THAT(form->All("resource"), ElementsAre("1", "2"));
  for (const char* text : {"a=1&a=2", "a=1&%61=2", "a=%", "a=%4", "a=%zz", "a=%00", "a=%FF"}) {
    EXPECT_FALSE(Form::Parse(text).ok()) << text;
  }
  std::string many;
  for (std::size_t i = 0; i <= kMaxFormFields; ++i) StrAppend(&many, "f", i, "=1&");
  EXPECT_FALSE(Form::Parse(many).ok());
}

TEST(Pkce, OfRfc7636AppendixB) {
  const std::string verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
  const std::string challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
  EXPECT_TRUE(IsChallenge(challenge));
  EXPECT_TRUE(Proves(verifier, challenge));
  EXPECT_FALSE(Proves(challenge, challenge)) << "plain";
  EXPECT_FALSE(Proves(verifier.substr(1), challenge));
  EXPECT_FALSE(Proves("", challenge));
  const std::string with_space = std::string(42, 'a') + " ";
  EXPECT_FALSE(Proves(with_space, absl::WebSafeBase64Escape(Sha256(with_space))));
  const std::string longest(128, 'a');
  EXPECT_TRUE(Proves(longest, absl::WebSafeBase64Escape(Sha256(longest))));
  const std::string too_long(129, 'a');
  EXPECT_FALSE(Proves(too_long, absl::WebSafeBase64Escape(Sha256(too_long))));
  EXPECT_FALSE(IsChallenge(challenge.substr(1)));
  EXPECT_FALSE(IsChallenge(challenge + "="));
  EXPECT_FALSE(IsChallenge(std::string(43, '+')));
}

TEST(Resource, SlashesAndCaseOfTheHostMakeNoDifference) {
  const std::string base = "https://box.example.com";
  for (const char* uri : {"https://box.example.com/mcp", "https://box.example.com/mcp/",
                          "HTTPS://Box.Example.com/mcp", "https://box.example.com:443/mcp",
                          "https://box.example.com", "https://box.example.com/"}) {
    EXPECT_TRUE(MeansOurResource({uri}, base)) << uri;
  }
  EXPECT_TRUE(MeansOurResource({}, base));
  for (const char* uri :
       {"http://box.example.com/mcp", "https://box.example.com:8443/mcp",
        "https://box.example.com/MCP", "https://box.example.com/mcp2",
        "https://other.example.com/mcp", "https://box.example.com/mcp?x",
        "https://box.example.com/mcp#x", "https://u@box.example.com/mcp", "box.example.com/mcp",
        "urn:x", "https://box.example.com.evil.example/mcp"}) {
    EXPECT_FALSE(MeansOurResource({uri}, base)) << uri;
  }
  EXPECT_FALSE(MeansOurResource({"https://box.example.com/mcp", "https://other.example"}, base));
}

TEST(Resource, WithAPathTheIssuerStaysTheBareOrigin) {
  const std::string base = "https://Box.example.com/sandbox";
  EXPECT_EQ(OriginOf(base), "https://box.example.com");
  EXPECT_EQ(ResourceOf(base), "https://box.example.com/sandbox/mcp");
  EXPECT_TRUE(MeansOurResource({"https://box.example.com/sandbox/mcp"}, base));
  EXPECT_FALSE(MeansOurResource({"https://box.example.com/mcp"}, base));
}

class ClientTest : public testing::Test {
 protected:
  FakeRandom random_;
  ClientRegistry registry_{Secret("a server's secret")};
  Client client_ = SomeClient();

 private:
  static Client SomeClient() {
    Client client;
    client.name = "An App";
    client.redirect_uris = {"https://app.example.com/cb"};
    return client;
  }
};

TEST_F(ClientTest, ItsIdIsWhatItRegistered) {
  client_.registered_at = 1'800'000'000;
  const auto registered = registry_.Register(client_, random_);
  ASSERT_TRUE(registered.ok());
  const auto found = registry_.Find(registered->id);
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->name, "An App");
  EXPECT_THAT(found->redirect_uris, ElementsAre("https://app.example.com/cb"));
  EXPECT_FALSE(found->confidential);
  EXPECT_EQ(found->registered_at, 1'800'000'000);
  EXPECT_EQ(found->hash, Sha256(registered->id));
  EXPECT_NE(registry_.Register(client_, random_)->id, registered->id);
}

TEST_F(ClientTest, AnyChangedCharacterOfAnIdMakesItNobodys) {
  const std::string id = registry_.Register(client_, random_)->id;
  for (std::size_t i = 0; i < id.size(); ++i) {
    for (const char c : {'A', 'B', '.', '=', '%'}) {
      std::string changed = id;
      if (changed[i] == c) continue;
      changed[i] = c;
      EXPECT_FALSE(registry_.Find(changed).ok()) << changed;
    }
    EXPECT_FALSE(registry_.Find(id.substr(0, i)).ok());
  }
  EXPECT_FALSE(registry_.Find(id + "=").ok());
  EXPECT_FALSE(registry_.Find(id + "A").ok());
  EXPECT_FALSE(ClientRegistry(Secret("another server's")).Find(id).ok());
}

TEST_F(ClientTest, ASecretFollowsFromTheIdAndNothingElse) {
  client_.confidential = true;
  const Client one = *registry_.Register(client_, random_);
  const Client two = *registry_.Register(client_, random_);
  EXPECT_NE(registry_.SecretOf(one).Reveal(), registry_.SecretOf(two).Reveal());
  EXPECT_EQ(registry_.SecretOf(one).Reveal(), registry_.SecretOf(*registry_.Find(one.id)).Reveal());
  EXPECT_EQ(registry_.SecretOf(one).Reveal().size(), 43u);
}

TEST_F(ClientTest, AnIdThatWouldBeTooLongIsRefused) {
  client_.redirect_uris.assign(4, StrCat("https://x.example/", std::string(900, 'a')));
  EXPECT_FALSE(registry_.Register(client_, random_).ok());
}

TEST(RegistrationTest, WhatRealClientsSendIsTaken) {
  for (
      const char* body :
      {R"({"redirect_uris":["http://localhost:3000/cb"]})",
       R"({"client_name":"Cursor","redirect_uris":["cursor://anysphere.cursor-mcp/oauth/callback",
            "https://www.cursor.com/agents/mcp/oauth/callback"],"application_type":"web",
            "token_endpoint_auth_method":"none","grant_types":["authorization_code","refresh_token"],
            "response_types":["code"],"scope":"sandbox","logo_uri":null,"contacts":[]})",
       R"({"redirect_uris":["https://a.example/cb"],"token_endpoint_auth_method":"client_secret_post",
            "grant_types":["authorization_code","urn:ietf:params:oauth:grant-type:device_code"]})"}) {
    const Registration registration = ReadRegistration(body);
    EXPECT_TRUE(registration.ok()) << registration.refusal.description;
  }
}

TEST(RegistrationTest, TheDefaultIsAConfidentialClient) {
  EXPECT_TRUE(ReadRegistration(R"({"redirect_uris":["https://a.example/"]})").client.confidential);
  EXPECT_FALSE(
      ReadRegistration(
          R"({"redirect_uris":["https://a.example/"],"token_endpoint_auth_method":"none"})")
          .client.confidential);
}

TEST(RegistrationTest, WhatCantBeServedIsRefusedByOauthsNames) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "invalid_client_metadata"},
      {"[]", "invalid_client_metadata"},
      {"{", "invalid_client_metadata"},
      {R"({"redirect_uris":["https://a.example/"],"redirect_uris":[]})", "invalid_client_metadata"},
      {"{}", "invalid_redirect_uri"},
      {R"({"redirect_uris":[]})", "invalid_redirect_uri"},
      {R"({"redirect_uris":"https://a.example/"})", "invalid_redirect_uri"},
      {R"({"redirect_uris":[7]})", "invalid_redirect_uri"},
      {R"json({"redirect_uris":["https://a.example/","javascript:alert(1)"]})json",
       "invalid_redirect_uri"},
      {R"({"redirect_uris":["data:text/html,x"]})", "invalid_redirect_uri"},
      {R"({"redirect_uris":["file:///x"]})", "invalid_redirect_uri"},
      {R"({"redirect_uris":["http://a.example/"]})", "invalid_redirect_uri"},
      {R"({"redirect_uris":["https://a.example/"],"client_name":7})", "invalid_client_metadata"},
      {R"({"redirect_uris":["https://a.example/"],"token_endpoint_auth_method":"private_key_jwt"})",
       "invalid_client_metadata"},
      {R"({"redirect_uris":["https://a.example/"],"grant_types":["client_credentials"]})",
       "invalid_client_metadata"},
      {R"({"redirect_uris":["https://a.example/"],"response_types":["token"]})",
       "invalid_client_metadata"},
  };
  for (const auto& [body, error] : cases) {
    EXPECT_EQ(ReadRegistration(body).refusal.error, error) << body;
  }
  std::string many = R"({"redirect_uris":["https://a.example/")";
  for (std::size_t i = 0; i < kMaxRedirectUris; ++i) many += R"(,"https://a.example/")";
  EXPECT_EQ(ReadRegistration(many + "]}").refusal.error, "invalid_redirect_uri");
}

TEST(RegistrationTest, ALongNameIsCutOnACharacter) {
  std::string name;
  for (int i = 0; i < 100; ++i) name += "é";
  const Registration registration = ReadRegistration(
      StrCat(R"({"redirect_uris":["https://a.example/"],"client_name":")", name, "\"}"));
  EXPECT_EQ(registration.client.name, name.substr(0, kMaxClientNameBytes));
}

TEST(SealedRequest, AnotherBrowserOrALaterTimeOrAChangeDoesntOpenIt) {
  FakeClock clock;
  const RequestSealer sealer(Secret("secret"));
  const AuthorizationRequest asked{.client_id = "c",
                                   .redirect_uri = "https://a.example/",
                                   .state = "a\n\"state\"",
                                   .challenge = "x",
                                   .scope = "sandbox",
                                   .resource = "r",
                                   .issuer = "i"};
  const absl::Time end = clock.Now() + absl::Minutes(10);
  const SealedRequest sealed = sealer.Seal(asked, "cookie", end);
  const auto opened = sealer.Open(sealed, "cookie", end - absl::Milliseconds(1));
  ASSERT_TRUE(opened.ok());
  EXPECT_EQ(opened->state, asked.state);
  EXPECT_FALSE(sealer.Open(sealed, "cookie", end).ok());
  EXPECT_FALSE(sealer.Open(sealed, "other", clock.Now()).ok());
  EXPECT_FALSE(sealer.Open(sealer.Seal(asked, "", end), "", clock.Now()).ok());
  EXPECT_FALSE(sealer.Open({sealed.request + "A", sealed.token}, "cookie", clock.Now()).ok());
  EXPECT_FALSE(sealer.Open({sealed.request, ""}, "cookie", clock.Now()).ok());
  EXPECT_FALSE(RequestSealer(Secret("another")).Open(sealed, "cookie", clock.Now()).ok());
}

TEST(SourceLimitTest, EachAddressHasItsOwnAndItFillsAgain) {
  FakeClock clock;
  SourceLimit limit(2, 1, clock);
  EXPECT_TRUE(limit.Take("192.0.2.1"));
  EXPECT_TRUE(limit.Take("192.0.2.1"));
  EXPECT_FALSE(limit.Take("192.0.2.1"));
  EXPECT_TRUE(limit.Take("192.0.2.2"));
  clock.Advance(absl::Seconds(1));
  EXPECT_TRUE(limit.Take("192.0.2.1"));
  EXPECT_FALSE(limit.Take("192.0.2.1"));
}

TEST(SourceLimitTest, Ipv6CountsByItsNetwork) {
  FakeClock clock;
  SourceLimit limit(1, 1, clock);
  EXPECT_TRUE(limit.Take("2001:db8::1"));
  EXPECT_FALSE(limit.Take("2001:db8::ffff:2"));
  EXPECT_TRUE(limit.Take("2001:db8:0:1::1"));
}

TEST(SourceLimitTest, AFloodOfAddressesSharesOneAllowanceAndIsForgotten) {
  FakeClock clock;
  SourceLimit limit(1, 1, clock);
  for (std::size_t i = 0; i < kMaxTrackedSources; ++i) EXPECT_TRUE(limit.Take(StrCat("host", i)));
  EXPECT_TRUE(limit.Take("late1"));
  EXPECT_FALSE(limit.Take("late2")) << "one for all that find no place";
  clock.Advance(absl::Seconds(2));
  EXPECT_TRUE(limit.Take("late3"));
  EXPECT_TRUE(limit.Take("late4"));
}

}  // namespace
}  // namespace sandkeep::oauth
