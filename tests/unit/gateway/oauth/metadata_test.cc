// What a client finds out before it signs in, and how /mcp tells it where to look.

#include "tests/unit/gateway/oauth/oauth_fixture.h"

namespace sandkeep {
namespace {

using testing::HasSubstr;

class MetadataTest : public OauthFixture {
 protected:
  std::string Body(std::string_view path) {
    const std::string answer = Ask(Get(path));
    EXPECT_EQ(RawClient::StatusOf(answer), 200) << path;
    EXPECT_EQ(HeaderOf(answer, "Content-Type"), "application/json");
    return RawClient::BodyOf(answer);
  }
};

TEST_F(MetadataTest, TheEndpointsMetadataStandsAtBothUrlsAndNamesUs) {
  StartServer();
  for (const char* path :
       {"/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp",
        "/.well-known/oauth-protected-resource/mcp/"}) {
    const boost::json::object document = boost::json::parse(Body(path)).as_object();
    EXPECT_EQ(Text(document, "resource"), Resource());
    EXPECT_EQ(document.at("authorization_servers"), boost::json::array{Base()});
    EXPECT_EQ(document.at("scopes_supported"), boost::json::array{"sandbox"});
  }
}

TEST_F(MetadataTest, TheServersMetadataHasWhatClientsRefuseToGoWithout) {
  StartServer();
  const std::string body = Body("/.well-known/oauth-authorization-server");
  EXPECT_EQ(Body("/.well-known/openid-configuration"), body);
  const boost::json::object document = boost::json::parse(body).as_object();
  EXPECT_EQ(Text(document, "issuer"), Base()) << "no path, no slash";
  EXPECT_EQ(Text(document, "authorization_endpoint"), Base() + "/authorize");
  EXPECT_EQ(Text(document, "token_endpoint"), Base() + "/token");
  EXPECT_EQ(Text(document, "registration_endpoint"), Base() + "/register");
  EXPECT_EQ(Text(document, "revocation_endpoint"), Base() + "/revoke");
  EXPECT_EQ(document.at("code_challenge_methods_supported"), boost::json::array{"S256"});
  EXPECT_EQ(document.at("response_types_supported"), boost::json::array{"code"});
  EXPECT_EQ(document.at("authorization_response_iss_parameter_supported"), true);
  const boost::json::array scopes = {"sandbox", "offline_access"};
  EXPECT_EQ(document.at("scopes_supported"), scopes);
  EXPECT_FALSE(document.contains("client_id_metadata_document_supported"));
}

TEST_F(MetadataTest, EverythingElseBelowWellKnownIsAJson404) {
  StartServer();
  for (const char* path :
       {"/.well-known/oauth-authorization-server/mcp", "/.well-known/openid-configuration/mcp",
        "/.well-known/oauth-protected-resource/other", "/.well-known/jwks.json",
        "/.well-known/oauth-protected-resourceX", "/.well-known/", "/.well-known/security.txt",
        "/mcp/.well-known/oauth-protected-resource"}) {
    const std::string answer = Ask(Get(path));
    EXPECT_EQ(RawClient::StatusOf(answer), 404) << path;
    EXPECT_EQ(HeaderOf(answer, "Content-Type"), "application/json") << path;
  }
  EXPECT_EQ(StatusOf(Get("/.well-known/oauth-authorization-server", "", "HEAD")), 200);
  EXPECT_EQ(StatusOf(Get("/.well-known/oauth-authorization-server", "", "OPTIONS")), 204);
  EXPECT_EQ(StatusOf(Get("/.well-known/oauth-authorization-server", "", "DELETE")), 405);
}

TEST_F(MetadataTest, TheChallengeNamesThePathInsertedUrl) {
  StartServer();
  const std::string metadata =
      StrCat("resource_metadata=\"", Base(), "/.well-known/oauth-protected-resource/mcp\"");
  for (const char* method : {"GET", "DELETE"}) {
    const std::string answer = Ask(Get("/mcp", "", method));
    EXPECT_EQ(RawClient::StatusOf(answer), 401);
    const std::string challenge = HeaderOf(answer, "WWW-Authenticate");
    EXPECT_THAT(challenge, HasSubstr(metadata));
    EXPECT_THAT(challenge, HasSubstr("scope=\"sandbox\""));
    EXPECT_THAT(challenge, testing::Not(HasSubstr("error=")));
  }
  const std::string wrong = HeaderOf(Call("at-wrong"), "WWW-Authenticate");
  EXPECT_THAT(wrong, HasSubstr("error=\"invalid_token\""));
  EXPECT_THAT(wrong, HasSubstr(metadata));
}

TEST_F(MetadataTest, WithAPublicBaseEverythingIsSaidInItsTerms) {
  names_.public_base = "https://box.example.com/sandbox/";
  StartServer();
  const auto ask = [this](std::string_view path) {
    return Ask(StrCat("GET ", path, " HTTP/1.1\r\nHost: box.example.com\r\n\r\n"));
  };
  const std::string answer = ask("/.well-known/oauth-protected-resource/sandbox/mcp");
  ASSERT_EQ(RawClient::StatusOf(answer), 200);
  EXPECT_EQ(Text(JsonOf(answer), "resource"), "https://box.example.com/sandbox/mcp");
  EXPECT_EQ(Text(JsonOf(ask("/.well-known/oauth-authorization-server")), "issuer"),
            "https://box.example.com");
  EXPECT_EQ(RawClient::StatusOf(ask("/.well-known/oauth-protected-resource/mcp")), 404);
  EXPECT_THAT(
      ask("/sandbox/mcp"),
      HasSubstr("resource_metadata=\"https://box.example.com/.well-known/oauth-protected-resource/"
                "sandbox/mcp\""));
}

TEST_F(MetadataTest, AFormWithoutALengthOrWithTooMuchOfItIsRefusedUnread) {
  StartServer();
  for (const char* path : {"/token", "/register", "/revoke", "/authorize"}) {
    const std::string head = StrCat("POST ", path, " HTTP/1.1\r\nHost: ", Host(), "\r\n");
    EXPECT_EQ(StatusOf(StrCat(head, "Transfer-Encoding: chunked\r\n\r\n")), 411) << path;
    EXPECT_EQ(StatusOf(StrCat(head, "Content-Length: ", kMaxFormBytes + 1, "\r\n\r\n")), 413);
    EXPECT_EQ(StatusOf(Get(path, "", "PUT")), 405) << path;
    EXPECT_EQ(StatusOf(Get(path, "", "OPTIONS")), 204) << path;
  }
  EXPECT_EQ(StatusOf(Get("/token")), 405);
}

}  // namespace
}  // namespace sandkeep
