// Codes and tokens over real sockets and a real database: the tables of RFC 6749, 7636, 7009, 8707
// and 9700, and what a restart, a removed key and a copy of the database mean.

#include <barrier>
#include <set>

#include "gateway/keys/key_table.h"
#include "tests/fakes/patience.h"
#include "tests/unit/gateway/oauth/oauth_fixture.h"

namespace sandkeep {
namespace {

using testing::HasSubstr;
using testing::Not;

class TokenTest : public OauthFixture {
 protected:
  TokenTest() { StartServer(); }

  void ExpectError(const std::string& answer, int status, std::string_view error) {
    EXPECT_EQ(RawClient::StatusOf(answer), status) << answer;
    EXPECT_EQ(ErrorOf(answer), error) << answer;
    EXPECT_EQ(HeaderOf(answer, "Cache-Control"), "no-store");
  }
  std::string RefreshAnswer(const std::string& client, const std::string& token) {
    return PostForm("/token", Refreshing(client, token));
  }
  // The key table as the `keys` command has it.
  KeyTable Keys() { return KeyTable(*OpenGatewayDatabase(folder_)); }
  void WaitUntilRefused(const std::string& key) {
    const auto end = std::chrono::steady_clock::now() + kTestPatience;
    while (keys_->Find(key).has_value() && std::chrono::steady_clock::now() < end) {
      std::this_thread::yield();
    }
  }
};

class SignedInTest : public TokenTest {
 protected:
  SignedInTest() {
    client_ = Client();
    tokens_now_ = SignedIn(client_);
  }
  std::string client_;
  Tokens tokens_now_;
};

TEST_F(TokenTest, ACodeBecomesTokensOfTheKeysPrincipal) {
  const std::string client = Client();
  const std::string answer = PostForm("/token", Redeeming(client, CodeFor(Asking(client))));
  const boost::json::object object = JsonOf(answer);
  EXPECT_EQ(RawClient::StatusOf(answer), 200);
  EXPECT_EQ(HeaderOf(answer, "Content-Type"), "application/json");
  EXPECT_EQ(HeaderOf(answer, "Cache-Control"), "no-store");
  EXPECT_EQ(Text(object, "token_type"), "Bearer");
  EXPECT_EQ(object.at("expires_in"), 3600);
  EXPECT_EQ(Text(object, "scope"), "sandbox offline_access");
  EXPECT_EQ(Text(object, "access_token").size(), 46u);
  const std::string by_token = RawClient::BodyOf(Call(Text(object, "access_token")));
  EXPECT_THAT(by_token, HasSubstr(principal_));
  EXPECT_EQ(by_token, RawClient::BodyOf(Call(key_)));
}

TEST_F(TokenTest, PkceMissingPlainWrongOrMisshapenGivesNothing) {
  const std::string client = Client();
  for (const std::string& verifier :
       {ChallengeOf(kVerifier), std::string(kVerifier) + "x", std::string(kVerifier).substr(1),
        std::string("short"), std::string(129, 'a')}) {
    Fields fields = Redeeming(client, CodeFor(Asking(client)));
    fields["code_verifier"] = verifier;
    ExpectError(PostForm("/token", fields), 400, "invalid_grant");
    fields["code_verifier"] = kVerifier;
    ExpectError(PostForm("/token", fields), 400, "invalid_grant");
  }
  Fields fields = Redeeming(client, CodeFor(Asking(client)));
  fields.erase("code_verifier");
  ExpectError(PostForm("/token", fields), 400, "invalid_request");
}

TEST_F(TokenTest, ARedirectOffByOneByteGivesNothing) {
  const std::string client = Client();
  for (const char* redirect :
       {"https://app.example.com/callback/", "https://app.example.com/callbac",
        "https://app.example.com/Callback", "HTTPS://app.example.com/callback"}) {
    Fields fields = Redeeming(client, CodeFor(Asking(client)));
    fields["redirect_uri"] = redirect;
    ExpectError(PostForm("/token", fields), 400, "invalid_grant");
  }
}

TEST_F(TokenTest, ACodeIsForItsClientItsTimeAndItsResource) {
  const std::string client = Client();
  const std::string code = CodeFor(Asking(client));
  ExpectError(PostForm("/token", Redeeming(Client(), code)), 400, "invalid_grant");
  EXPECT_EQ(RawClient::StatusOf(PostForm("/token", Redeeming(client, code))), 200)
      << "another client's try doesn't use it up";

  const std::string late = CodeFor(Asking(client));
  clock_.Advance(absl::Minutes(5));
  ExpectError(PostForm("/token", Redeeming(client, late)), 400, "invalid_grant");

  Fields fields = Redeeming(client, CodeFor(Asking(client)));
  fields["resource"] = "https://other.example.com/mcp";
  ExpectError(PostForm("/token", fields), 400, "invalid_target");
  ExpectError(PostForm("/token", Redeeming(client, "no-such-code")), 400, "invalid_grant");
}

TEST_F(TokenTest, RequestsThatArentOnesAreNamed) {
  const std::string client = Client();
  const Fields good = Redeeming(client, "x");
  Fields fields = good;
  fields.erase("grant_type");
  ExpectError(PostForm("/token", fields), 400, "invalid_request");
  fields["grant_type"] = "password";
  ExpectError(PostForm("/token", fields), 400, "unsupported_grant_type");
  fields = good;
  fields.erase("code");
  ExpectError(PostForm("/token", fields), 400, "invalid_request");
  fields = good;
  fields["client_id"] = "nobody";
  ExpectError(PostForm("/token", fields), 401, "invalid_client");
  fields.erase("client_id");
  ExpectError(PostForm("/token", fields), 401, "invalid_client");
  ExpectError(
      PostTo("/token", StrCat(Encode(good), "&code=y"), "application/x-www-form-urlencoded"), 400,
      "invalid_request");
  ExpectError(PostTo("/token", "{}", "application/json"), 400, "invalid_request");
  ExpectError(PostForm("/token", {{"grant_type", "refresh_token"}, {"client_id", client}}), 400,
              "invalid_request");
}

TEST_F(TokenTest, AConfidentialClientNeedsItsSecretEitherWay) {
  const boost::json::object registered = Registered(kRedirect, "client_secret_basic");
  const std::string client = Text(registered, "client_id");
  const std::string secret = Text(registered, "client_secret");
  ASSERT_EQ(secret.size(), 43u);
  EXPECT_EQ(registered.at("client_secret_expires_at"), 0);
  const auto basic = [](const std::string& id, const std::string& password) {
    return StrCat("Authorization: Basic ", absl::Base64Escape(StrCat(id, ":", password)), "\r\n");
  };
  Fields fields = Redeeming(client, CodeFor(Asking(client)));
  ExpectError(PostForm("/token", fields), 401, "invalid_client");
  fields["client_secret"] = StrCat(secret, "x");
  ExpectError(PostForm("/token", fields), 401, "invalid_client");
  fields.erase("client_secret");
  const std::string refused = PostForm("/token", fields, basic(client, "wrong"));
  ExpectError(refused, 401, "invalid_client");
  EXPECT_THAT(HeaderOf(refused, "WWW-Authenticate"), HasSubstr("Basic"));
  ExpectError(PostForm("/token", fields, basic(Client(), secret)), 401, "invalid_client");
  ExpectError(PostForm("/token", fields, "Authorization: Basic !\r\n"), 401, "invalid_client");
  EXPECT_EQ(RawClient::StatusOf(PostForm("/token", fields, basic(client, secret))), 200)
      << "none of the tries used the code up";
  fields = Redeeming(client, CodeFor(Asking(client)));
  fields["client_secret"] = secret;
  EXPECT_EQ(RawClient::StatusOf(PostForm("/token", fields)), 200);
}

TEST_F(SignedInTest, ACodeUsedTwiceEndsWhatCameOfIt) {
  const std::string code = CodeFor(Asking(client_));
  const Tokens tokens = TokensOf(PostForm("/token", Redeeming(client_, code)));
  const Tokens later = Refreshed(client_, tokens.refresh);
  ASSERT_EQ(CallStatus(later.access), 200);

  ExpectError(PostForm("/token", Redeeming(client_, code)), 400, "invalid_grant");

  EXPECT_EQ(CallStatus(tokens.access), 401);
  EXPECT_EQ(CallStatus(later.access), 401);
  ExpectError(RefreshAnswer(client_, later.refresh), 400, "invalid_grant");
  EXPECT_EQ(CallStatus(tokens_now_.access), 200) << "another sign-in of the same client";
}

TEST_F(SignedInTest, AnExpiredTokenIs401WithAChallengeAndARefreshHelps) {
  clock_.Advance(absl::Hours(1) - absl::Milliseconds(1));
  EXPECT_EQ(CallStatus(tokens_now_.access), 200);
  clock_.Advance(absl::Milliseconds(1));
  const std::string answer = Call(tokens_now_.access);
  EXPECT_EQ(RawClient::StatusOf(answer), 401);
  EXPECT_THAT(HeaderOf(answer, "WWW-Authenticate"), HasSubstr("error=\"invalid_token\""));
  EXPECT_THAT(HeaderOf(answer, "WWW-Authenticate"), HasSubstr("resource_metadata="));
  EXPECT_EQ(CallStatus(Refreshed(client_, tokens_now_.refresh).access), 200);
}

TEST_F(SignedInTest, ATokenForOneNameOfOursIsNoneForAnother) {
  const auto call = [this](std::string_view host) {
    return Ask(StrCat("POST /mcp HTTP/1.1\r\nHost: ", host, "\r\nAuthorization: Bearer ",
                      tokens_now_.access, "\r\nContent-Length: 2\r\n\r\n{}"));
  };
  EXPECT_EQ(RawClient::StatusOf(call(Host())), 200);
  const std::string other = call(StrCat("localhost:", server_->port()));
  EXPECT_EQ(RawClient::StatusOf(other), 401);
  EXPECT_THAT(HeaderOf(other, "WWW-Authenticate"),
              HasSubstr(StrCat("resource_metadata=\"http://localhost:", server_->port())));
}

TEST_F(SignedInTest, ARefreshGivesANewPairAndKeepsTheScope) {
  const std::string answer = RefreshAnswer(client_, tokens_now_.refresh);
  const Tokens next = TokensOf(answer);
  EXPECT_NE(next.refresh, tokens_now_.refresh);
  EXPECT_NE(next.access, tokens_now_.access);
  EXPECT_EQ(Text(JsonOf(answer), "scope"), "sandbox offline_access");
  EXPECT_EQ(CallStatus(next.access), 200);
  EXPECT_EQ(CallStatus(tokens_now_.access), 200) << "calls in flight go on";
}

TEST_F(SignedInTest, ThoseWhoRefreshAtTheSameTimeAllGetTheSameSuccessor) {
  std::set<std::string> refresh;
  std::set<std::string> access;
  std::mutex mutex;
  std::vector<std::thread> threads;
  std::barrier together(8);
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      together.arrive_and_wait();
      const Tokens tokens = Refreshed(client_, tokens_now_.refresh);
      const std::lock_guard lock(mutex);
      refresh.insert(tokens.refresh);
      access.insert(tokens.access);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(refresh.size(), 1u);
  EXPECT_EQ(access.size(), 8u);
  for (const std::string& token : access) EXPECT_EQ(CallStatus(token), 200);
}

TEST_F(SignedInTest, AReplayWithinTheGraceGetsTheNewest) {
  const Tokens second = Refreshed(client_, tokens_now_.refresh);
  const Tokens third = Refreshed(client_, second.refresh);
  clock_.Advance(absl::Seconds(90));
  EXPECT_EQ(Refreshed(client_, tokens_now_.refresh).refresh, third.refresh);
  EXPECT_EQ(Refreshed(client_, second.refresh).refresh, third.refresh);
}

TEST_F(SignedInTest, AReplayAfterTheGraceEndsTheSignIn) {
  const Tokens second = Refreshed(client_, tokens_now_.refresh);
  clock_.Advance(absl::Seconds(90) + absl::Milliseconds(1));
  ASSERT_EQ(CallStatus(second.access), 200);

  ExpectError(RefreshAnswer(client_, tokens_now_.refresh), 400, "invalid_grant");

  EXPECT_EQ(CallStatus(second.access), 401);
  EXPECT_EQ(CallStatus(tokens_now_.access), 401);
  ExpectError(RefreshAnswer(client_, second.refresh), 400, "invalid_grant");
}

TEST_F(SignedInTest, ARefreshTokenIsForItsClientAndItsResource) {
  ExpectError(RefreshAnswer(Client(), tokens_now_.refresh), 400, "invalid_grant");
  Fields fields = Refreshing(client_, tokens_now_.refresh);
  fields["resource"] = "https://other.example.com/mcp";
  ExpectError(PostForm("/token", fields), 400, "invalid_target");
  fields["resource"] = StrCat(Resource(), "/");
  EXPECT_EQ(RawClient::StatusOf(PostForm("/token", fields)), 200);
  ExpectError(RefreshAnswer(client_, "rt-unknown"), 400, "invalid_grant");
  ExpectError(RefreshAnswer(client_, tokens_now_.access), 400, "invalid_grant");
  EXPECT_EQ(CallStatus(tokens_now_.refresh), 401) << "a refresh token opens nothing";
}

TEST_F(SignedInTest, ARefreshTokenLastsWhileItIsUsed) {
  clock_.Advance(absl::Hours(24 * 89));
  const Tokens second = Refreshed(client_, tokens_now_.refresh);
  clock_.Advance(absl::Hours(24 * 89));
  const Tokens third = Refreshed(client_, second.refresh);
  clock_.Advance(absl::Hours(24 * 90));
  ExpectError(RefreshAnswer(client_, third.refresh), 400, "invalid_grant");
}

TEST_F(SignedInTest, RevokingEitherTokenEndsTheSignIn) {
  const auto revoke = [this](const std::string& client, const std::string& token) {
    return PostForm("/revoke", {{"client_id", client}, {"token", token}});
  };
  ExpectError(revoke(Client(), tokens_now_.refresh), 400, "invalid_grant");
  ExpectError(revoke("nobody", tokens_now_.refresh), 401, "invalid_client");
  ExpectError(revoke(client_, ""), 400, "invalid_request");
  EXPECT_EQ(RawClient::StatusOf(revoke(client_, "unknown")), 200) << "RFC 7009, 2.2";
  EXPECT_EQ(CallStatus(tokens_now_.access), 200);

  EXPECT_EQ(RawClient::StatusOf(revoke(client_, tokens_now_.refresh)), 200);
  EXPECT_EQ(CallStatus(tokens_now_.access), 401);
  ExpectError(RefreshAnswer(client_, tokens_now_.refresh), 400, "invalid_grant");

  const Tokens again = SignedIn(client_);
  EXPECT_EQ(RawClient::StatusOf(revoke(client_, again.access)), 200);
  EXPECT_EQ(CallStatus(again.access), 401);
  ExpectError(RefreshAnswer(client_, again.refresh), 400, "invalid_grant");
}

TEST_F(SignedInTest, ARestartKeepsEverybodySignedIn) {
  // A second one on the same database, which is what a start finds.
  const auto old = std::move(server_of_oauth_);
  StartOauth();
  EXPECT_EQ(tokens_->Find(tokens_now_.access, Base())->principal.text(), principal_);
  EXPECT_FALSE(tokens_->Find(tokens_now_.access, "http://localhost").has_value());
}

TEST_F(SignedInTest, ARemovedKeyEndsItsTokensWithinASecond) {
  ASSERT_EQ(CallStatus(tokens_now_.access), 200);
  const std::string code = CodeFor(Asking(client_));
  const std::string page = Page(Asking(client_));
  const auto begin = std::chrono::steady_clock::now();
  ASSERT_TRUE(Keys().RemoveDevice("ann", "key1").ok());
  WaitUntilRefused(key_);
  EXPECT_EQ(CallStatus(tokens_now_.access), 401);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(2));
  ExpectError(RefreshAnswer(client_, tokens_now_.refresh), 400, "invalid_grant");
  ExpectError(PostForm("/token", Redeeming(client_, code)), 400, "invalid_grant");
  EXPECT_EQ(RawClient::StatusOf(Press(page, key_)), 403);
}

TEST_F(SignedInTest, ARotatedKeysSignInsEndWithItsOverlap) {
  ASSERT_TRUE(Keys().Rotate("ann", std::nullopt, absl::Minutes(30), SystemRandom(), clock_).ok());
  const auto end = std::chrono::steady_clock::now() + kTestPatience;
  // The old key's end is known when the new one is.
  clock_.Advance(absl::Minutes(30));
  while (keys_->Find(key_).has_value() && std::chrono::steady_clock::now() < end) {
    std::this_thread::yield();
  }
  EXPECT_EQ(CallStatus(tokens_now_.access), 401);
  ExpectError(RefreshAnswer(client_, tokens_now_.refresh), 400, "invalid_grant");
}

TEST_F(SignedInTest, NoLiveTokenKeyOrCodeStandsInTheDatabase) {
  const std::string code = CodeFor(Asking(client_));
  const Tokens next = Refreshed(client_, tokens_now_.refresh);
  const std::string secret = Text(Registered(kRedirect, "client_secret_post"), "client_secret");
  const std::string bytes = DatabaseBytes();
  ASSERT_THAT(bytes, HasSubstr("An App")) << "this is where they would stand";
  for (const std::string& text :
       {key_, tokens_now_.access, tokens_now_.refresh, next.access, next.refresh, code, secret}) {
    const std::string random = text.substr(text.size() - 43);
    std::string raw;
    ASSERT_TRUE(absl::WebSafeBase64Unescape(random, &raw));
    EXPECT_EQ(bytes.find(random), std::string::npos) << text;
    EXPECT_EQ(bytes.find(raw), std::string::npos) << text;
    EXPECT_EQ(bytes.find(absl::BytesToHexString(raw)), std::string::npos) << text;
  }
}

TEST_F(SignedInTest, ManySignInsOfOneKeyEndTheOldestOnly) {
  clock_.Advance(absl::Seconds(1));
  Tokens newest;
  for (int i = 0; i < kMaxSignInsPerKey; ++i) newest = SignedIn(client_);
  EXPECT_EQ(CallStatus(tokens_now_.access), 401);
  EXPECT_EQ(CallStatus(newest.access), 200);
  ExpectError(RefreshAnswer(client_, tokens_now_.refresh), 400, "invalid_grant");
}

TEST_F(SignedInTest, ManyRefreshesWithinTheGraceLeaveABoundedNumberOfTokens) {
  for (int i = 0; i < kMaxAccessTokensPerSignIn + 5; ++i) {
    clock_.Advance(absl::Milliseconds(1));
    Refreshed(client_, tokens_now_.refresh);
  }
  Database db = *OpenGatewayDatabase(folder_);
  Statement count = *db.Prepare("SELECT count(*) FROM access_tokens");
  ASSERT_TRUE(*count.Step());
  EXPECT_EQ(count.Int(0), kMaxAccessTokensPerSignIn);
  EXPECT_EQ(CallStatus(tokens_now_.access), 401);
}

TEST_F(SignedInTest, AClientThatRefreshesInALoopLeavesABoundedNumberOfTokens) {
  const std::string first = tokens_now_.refresh;
  Tokens tokens = tokens_now_;
  for (int i = 0; i < 140; ++i) {
    clock_.Advance(absl::Milliseconds(1));
    tokens = Refreshed(client_, tokens.refresh);
  }
  Database db = *OpenGatewayDatabase(folder_);
  Statement count = *db.Prepare("SELECT count(*) FROM refresh_tokens");
  ASSERT_TRUE(*count.Step());
  EXPECT_EQ(count.Int(0), 128);
  ExpectError(RefreshAnswer(client_, first), 400, "invalid_grant");
  EXPECT_EQ(CallStatus(Refreshed(client_, tokens.refresh).access), 200)
      << "what is forgotten ends nothing";
}

TEST_F(SignedInTest, WhatIsOverLeavesTheDatabase) {
  CodeFor(Asking(client_));
  clock_.Advance(absl::Hours(24 * 91));
  SignedIn(client_);
  Database db = *OpenGatewayDatabase(folder_);
  for (const char* table : {"access_tokens", "refresh_tokens", "sign_ins", "oauth_clients"}) {
    Statement count = *db.Prepare(StrCat("SELECT count(*) FROM ", table));
    ASSERT_TRUE(*count.Step());
    EXPECT_EQ(count.Int(0), 1) << table;
  }
  Statement codes = *db.Prepare("SELECT count(*) FROM oauth_codes");
  ASSERT_TRUE(*codes.Step());
  EXPECT_EQ(codes.Int(0), 0);
}

}  // namespace
}  // namespace sandkeep
