// DOWNLOAD_BASE: what sandboxes' files could do as a page, they do on an origin that has nothing
// else.

#include "tests/unit/gateway/http/gateway_fixture.h"

namespace sandkeep {
namespace {

using testing::HasSubstr;

using DownloadBaseTest = GatewayFixture;

TEST_F(DownloadBaseTest, DownloadsHaveAnOriginOfTheirOwnAndNothingElseIsThere) {
  names_.public_base = "https://box.example.com/sandbox";
  names_.download_base = "https://files.example.com/";
  StartServer();
  const auto at = [this](std::string_view host, std::string_view path) {
    return Ask(StrCat("GET ", path, " HTTP/1.1\r\nHost: ", host, "\r\n\r\n"));
  };
  for (const char* query : {"", "?download"}) {
    const std::string moved = at("box.example.com", StrCat("/sandbox/dl/1/x/y/a%20b", query));
    EXPECT_EQ(RawClient::StatusOf(moved), 307);
    EXPECT_THAT(moved, HasSubstr(StrCat("Location: https://files.example.com/dl/1/x/y/a%20b", query,
                                        "\r\n")));
  }
  EXPECT_THAT(at("files.example.com", "/dl/1/x/y/a"), HasSubstr("Nothing here"));
  for (const char* path : {"/healthz", "/mcp", "/authorize", "/.well-known/x", "/up/x/", "/"}) {
    EXPECT_EQ(RawClient::StatusOf(at("files.example.com", path)), 404) << path;
  }
  EXPECT_EQ(RawClient::StatusOf(at("box.example.com", "/healthz")), 200);
}

TEST(HostPolicyTest, TheDownloadBaseIsAnotherOrigin) {
  for (const char* base :
       {"files.example.com", "https://files.example.com/path", "ftp://x", "https://box.example.com",
        "https://box.example.com:8443", "http://localhost:8000", "https://lan.example"}) {
    http::HostPolicySettings settings;
    settings.public_base = "https://box.example.com";
    settings.allowed_hosts = {"lan.example"};
    settings.download_base = base;
    const auto policy = http::HostPolicy::Make(settings);
    EXPECT_THAT(policy.status().ToString(), HasSubstr("DOWNLOAD_BASE")) << base;
  }
}

}  // namespace
}  // namespace sandkeep
