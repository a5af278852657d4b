// What real clients do when they sign in that the protocol doesn't say, each test named after it.

#include <vector>

#include "tests/unit/gateway/oauth/oauth_fixture.h"

namespace sandkeep {
namespace {

using testing::StartsWith;

class OauthClientQuirks : public OauthFixture {
 protected:
  std::string RegisteredId(const std::string& json) {
    const std::string answer = RegisterJson(json);
    EXPECT_EQ(RawClient::StatusOf(answer), 201) << answer;
    return Text(JsonOf(answer), "client_id");
  }
  // The way back to `redirect`, and the tokens for the code that it has.
  Tokens SignedInAt(const std::string& client, const std::string& redirect,
                    const Fields& changes = {}) {
    Fields asking = Asking(client, redirect);
    for (const auto& [name, value] : changes) asking[name] = value;
    const std::string target = Target(Press(Page(asking), key_));
    EXPECT_THAT(target, StartsWith(StrCat(redirect, "?code=")));
    Fields redeeming = Redeeming(client, Parameter(target, "code"));
    redeeming["redirect_uri"] = redirect;
    return TokensOf(PostForm("/token", redeeming));
  }
};

TEST_F(OauthClientQuirks, ClaudeAiComesBackToEitherOfItsTwoAddresses) {
  StartServer();
  for (const char* callback :
       {"https://claude.ai/api/mcp/auth_callback", "https://claude.com/api/mcp/auth_callback"}) {
    const std::string client =
        RegisteredId(StrCat(R"({"client_name":"Claude","redirect_uris":[")", callback,
                            R"("],"token_endpoint_auth_method":"none"})"));
    EXPECT_EQ(CallStatus(SignedInAt(client, callback).access), 200);
  }
}

TEST_F(OauthClientQuirks, ClaudeAiCallsFromAnotherAddressThanItSignedInFrom) {
  StartServer();
  const Tokens tokens = SignedIn(Client());
  for (std::uint8_t last = 2; last < 6; ++last) {
    RawClient client(server_->port(), 0, last);
    client.Send(StrCat("POST /mcp HTTP/1.1\r\nHost: ", Host(), "\r\nAuthorization: Bearer ",
                       tokens.access, "\r\nContent-Length: 2\r\n\r\n{}"));
    EXPECT_EQ(RawClient::StatusOf(client.Answer()), 200);
  }
}

TEST_F(OauthClientQuirks, ClaudeAiRegistersForEveryConnectionAndNoneOfThemIsKept) {
  StartServer();
  std::vector<std::string> clients;
  clients.reserve(40);
  for (int i = 0; i < 40; ++i) clients.push_back(Client());
  Database db = *OpenGatewayDatabase(folder_);
  Statement count = *db.Prepare("SELECT count(*) FROM oauth_clients");
  ASSERT_TRUE(*count.Step());
  EXPECT_EQ(count.Int(0), 0);
  // None of them is too old, either.
  EXPECT_EQ(CallStatus(SignedIn(clients.front()).access), 200);
}

TEST_F(OauthClientQuirks, CursorRegistersAnAddressOfItsOwnBesideOthersAndCallsItselfWeb) {
  StartServer();
  const std::string client = RegisteredId(
      R"({"client_name":"Cursor","application_type":"web","token_endpoint_auth_method":"none",)"
      R"("redirect_uris":["cursor://anysphere.cursor-mcp/oauth/callback",)"
      R"("https://www.cursor.com/agents/mcp/oauth/callback","http://localhost:8787/callback"]})");
  for (const char* redirect : {"cursor://anysphere.cursor-mcp/oauth/callback",
                               "https://www.cursor.com/agents/mcp/oauth/callback"}) {
    EXPECT_EQ(CallStatus(SignedInAt(client, redirect).access), 200);
  }
}

TEST_F(OauthClientQuirks, VsCodeComesBackOnAnotherPortThanItRegistered) {
  StartServer();
  for (const char* host : {"http://127.0.0.1", "http://localhost", "http://[::1]"}) {
    const std::string client = Client(StrCat(host, ":33418/"));
    for (const char* port : {":33418/", ":50123/", "/"}) {
      EXPECT_EQ(CallStatus(SignedInAt(client, StrCat(host, port)).access), 200) << host << port;
    }
  }
}

TEST_F(OauthClientQuirks, AClientThatIsNotKnownAnyMoreIsToldSoThatItRegistersAgain) {
  StartServer();
  const std::string answer = PostForm("/token", Refreshing("registered-long-ago", "rt-x"));
  EXPECT_EQ(RawClient::StatusOf(answer), 401);
  EXPECT_EQ(ErrorOf(answer), "invalid_client");
}

// Bursts of up to 76 s were seen, each with the token that all of them had.
TEST_F(OauthClientQuirks, ClientsRefreshInParallelAndNoneOfThemIsSignedOut) {
  StartServer();
  const std::string client = Client();
  const Tokens tokens = SignedIn(client);
  std::vector<Tokens> refreshed;
  for (int i = 0; i < 5; ++i) {
    refreshed.push_back(TokensOf(PostForm("/token", Refreshing(client, tokens.refresh))));
    clock_.Advance(absl::Seconds(19));
  }
  for (const Tokens& one : refreshed) {
    EXPECT_EQ(one.refresh, refreshed.front().refresh);
    EXPECT_EQ(CallStatus(one.access), 200);
  }
}

TEST_F(OauthClientQuirks, ARefreshTokenComesToWhoDidNotAskToStay) {
  StartServer();
  const std::string client = Client();
  const Tokens tokens = SignedInAt(client, kRedirect, {{"scope", "sandbox"}});
  ASSERT_FALSE(tokens.refresh.empty());
  const std::string refreshed = PostForm("/token", Refreshing(client, tokens.refresh));
  EXPECT_EQ(Text(JsonOf(refreshed), "scope"), "sandbox");
  EXPECT_EQ(CallStatus(TokensOf(refreshed).access), 200);
}

TEST_F(OauthClientQuirks, AClientWithoutAScopeGetsWhatThereIs) {
  StartServer();
  for (const char* scope : {"", "mcp openid profile"}) {
    EXPECT_EQ(CallStatus(SignedInAt(Client(), kRedirect, {{"scope", scope}}).access), 200) << scope;
  }
}

TEST_F(OauthClientQuirks, TheOfficialSdkAsksForConsentAndOthersForMore) {
  StartServer();
  const Fields more = {{"prompt", "consent"}, {"nonce", "n"}, {"access_type", "offline"}};
  EXPECT_EQ(CallStatus(SignedInAt(Client(), kRedirect, more).access), 200);
}

TEST_F(OauthClientQuirks, TheResourceMayBeTheOriginOrEndWithASlash) {
  StartServer();
  for (const std::string& resource :
       {Base(), StrCat(Base(), "/"), Resource(), StrCat(Resource(), "/")}) {
    const std::string client = Client();
    const Tokens tokens = SignedInAt(client, kRedirect, {{"resource", resource}});
    EXPECT_EQ(CallStatus(tokens.access), 200) << resource;
    Fields fields = Refreshing(client, tokens.refresh);
    fields["resource"] = resource;
    EXPECT_EQ(RawClient::StatusOf(PostForm("/token", fields)), 200) << resource;
  }
}

// The SDK sends the headers that it was given for the endpoint to the other addresses, too.
TEST_F(OauthClientQuirks, AnAccessKeyInTheHeaderIsNoNameOfAClient) {
  StartServer();
  const std::string client = Client();
  const Tokens tokens = SignedIn(client);
  for (const char* header : {"Authorization: Bearer sk-from-the-settings\r\n",
                             "Authorization: Bearer\r\n", "Authorization: sk-x\r\n"}) {
    const std::string answer = PostForm("/token", Refreshing(client, tokens.refresh), header);
    EXPECT_EQ(RawClient::StatusOf(answer), 200) << header << answer;
  }
}

// A client that reads HTML where it looks for a document gives up; one that reads 401 signs in
// again, without end.
TEST_F(OauthClientQuirks, NoAddressOfAMetadataDocumentAsksForAKeyOrAnswersInHtml) {
  StartServer();
  for (const char* name :
       {"oauth-protected-resource", "oauth-authorization-server", "openid-configuration"}) {
    for (const std::string& path :
         {StrCat("/.well-known/", name), StrCat("/.well-known/", name, "/"),
          StrCat("/.well-known/", name, "/mcp"), StrCat("/.well-known/", name, "/mcp/"),
          StrCat("/mcp/.well-known/", name)}) {
      for (const char* more : {"", "Authorization: Bearer wrong\r\n", "Accept: text/html\r\n"}) {
        const std::string answer = Ask(Get(path, more));
        EXPECT_THAT(RawClient::StatusOf(answer), testing::AnyOf(200, 404)) << path;
        EXPECT_EQ(HeaderOf(answer, "Content-Type"), "application/json") << path;
        boost::system::error_code error;
        boost::json::parse(RawClient::BodyOf(answer), error);
        EXPECT_FALSE(error) << path;
      }
    }
  }
}

TEST_F(OauthClientQuirks, WhoReadsNoMetadataFindsTheAddressesOfTheFirstRevision) {
  StartServer();
  EXPECT_EQ(RawClient::StatusOf(Page(Asking(Client()))), 200) << "/register and /authorize";
  EXPECT_EQ(ErrorOf(PostForm("/token", {})), "invalid_client");
  EXPECT_EQ(ErrorOf(PostForm("/revoke", {})), "invalid_client");
}

TEST_F(OauthClientQuirks, RefusalsOfARegistrationAreOauthsOwn) {
  StartServer();
  for (const char* body : {"", "[]", "null", R"({"redirect_uris":["ftp://x/"]})"}) {
    const std::string answer = RegisterJson(body);
    EXPECT_EQ(RawClient::StatusOf(answer), 400);
    EXPECT_EQ(HeaderOf(answer, "Content-Type"), "application/json");
    EXPECT_THAT(ErrorOf(answer), StartsWith("invalid_"));
    EXPECT_FALSE(Text(JsonOf(answer), "error_description").empty());
  }
}

}  // namespace
}  // namespace sandkeep
