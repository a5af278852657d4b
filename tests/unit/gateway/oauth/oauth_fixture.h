// The HTTP front with its authorization server, on real sockets and a real database; the clock is
// the test's. Plays both the client and the person at the browser.
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/str_replace.h"
#include "common/digest.h"
#include "gateway/downloads/percent.h"
#include "gateway/oauth/server.h"
#include "tests/unit/gateway/http/gateway_fixture.h"

namespace sandkeep {

class OauthFixture : public GatewayFixture {
 protected:
  using Fields = std::map<std::string, std::string>;

  static constexpr const char* kRedirect = "https://app.example.com/callback";
  static constexpr const char* kVerifier = "a-verifier-of-at-least-forty-three-characters-0";

  OauthFixture() {
    endpoint_.script = [](mcp::Request request,
                          mcp::EventSink&) -> boost::asio::awaitable<mcp::Reply> {
      mcp::Reply reply;
      reply.body = StrCat("{\"for\":\"", request.caller.principal.text(), "\"}");
      co_return reply;
    };
    StartOauth();
  }

  ~OauthFixture() override {
    io_.stop();
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }

  void StartOauth() {
    auto started =
        oauth::Server::Start(*OpenGatewayDatabase(folder_), *keys_, SystemRandom(), clock_);
    EXPECT_TRUE(started.ok()) << started.status();
    server_of_oauth_ = *std::move(started);
    oauth_ = server_of_oauth_.get();
    tokens_ = &server_of_oauth_->tokens();
  }

  std::string Base() const { return StrCat("http://", Host()); }
  std::string Resource() const { return StrCat(Base(), "/mcp"); }

  static std::string Encode(const Fields& fields) {
    std::string text;
    for (const auto& [name, value] : fields) {
      StrAppend(&text, text.empty() ? "" : "&", name, "=", PercentEncode(value, false));
    }
    return text;
  }
  std::string PostTo(std::string_view path, std::string_view body, std::string_view type,
                     std::string_view more = "") {
    return Ask(StrCat("POST ", path, " HTTP/1.1\r\nHost: ", Host(), "\r\nContent-Type: ", type,
                      "\r\nContent-Length: ", body.size(), "\r\n", more, "\r\n", body));
  }
  std::string PostForm(std::string_view path, const Fields& fields, std::string_view more = "") {
    return PostTo(path, Encode(fields), "application/x-www-form-urlencoded", more);
  }
  static boost::json::object JsonOf(const std::string& answer) {
    return boost::json::parse(RawClient::BodyOf(answer)).as_object();
  }
  static std::string Text(const boost::json::object& object, std::string_view name) {
    const auto* value = object.if_contains({name.data(), name.size()});
    return value == nullptr || !value->is_string() ? "" : std::string(value->get_string());
  }
  static std::string ErrorOf(const std::string& answer) { return Text(JsonOf(answer), "error"); }

  // The value after `before`, up to a quote.
  static std::string After(const std::string& text, std::string_view before) {
    const std::size_t at = text.find(before);
    if (at == std::string::npos) return "";
    const std::size_t begin = at + before.size();
    return text.substr(begin, text.find('"', begin) - begin);
  }
  static std::string HeaderOf(const std::string& answer, std::string_view name) {
    const std::string mark = StrCat("\r\n", name, ": ");
    const std::size_t at = answer.find(mark);
    if (at == std::string::npos) return "";
    const std::size_t begin = at + mark.size();
    return answer.substr(begin, answer.find("\r\n", begin) - begin);
  }

  std::string RegisterJson(std::string_view json) {
    return PostTo("/register", json, "application/json");
  }
  boost::json::object Registered(std::string_view redirect = kRedirect,
                                 std::string_view method = "none") {
    const std::string answer =
        RegisterJson(StrCat(R"({"client_name":"An App","redirect_uris":[")", redirect,
                            R"("],"token_endpoint_auth_method":")", method, R"("})"));
    EXPECT_EQ(RawClient::StatusOf(answer), 201) << answer;
    return JsonOf(answer);
  }
  std::string Client(std::string_view redirect = kRedirect) {
    return Text(Registered(redirect), "client_id");
  }

  static std::string ChallengeOf(std::string_view verifier) {
    return absl::WebSafeBase64Escape(Sha256(verifier));
  }
  Fields Asking(const std::string& client, const std::string& redirect = kRedirect) const {
    return {{"response_type", "code"},           {"client_id", client},
            {"redirect_uri", redirect},          {"state", "a state"},
            {"scope", "sandbox offline_access"}, {"code_challenge", ChallengeOf(kVerifier)},
            {"code_challenge_method", "S256"},   {"resource", Resource()}};
  }
  std::string Page(const Fields& fields, std::string_view more = "") {
    return Ask(Get(StrCat("/authorize?", Encode(fields)), more));
  }
  static std::string CookieOf(const std::string& page) {
    const std::string header = HeaderOf(page, "Set-Cookie");
    return header.substr(0, header.find(';'));
  }
  // What the person does with a page.
  std::string Press(const std::string& page, const std::string& key,
                    const std::string& decision = "allow") {
    const Fields fields = {{"request", After(page, "name=\"request\" value=\"")},
                           {"token", After(page, "name=\"token\" value=\"")},
                           {"key", key},
                           {"decision", decision}};
    return PostForm("/authorize", fields,
                    StrCat("Cookie: ", CookieOf(page), "\r\nOrigin: ", Base(), "\r\n"));
  }
  // Where a page sends the browser, and a parameter of it, decoded.
  static std::string Target(const std::string& page) {
    return absl::StrReplaceAll(After(page, "0;url="), {{"&amp;", "&"}});
  }
  static std::string Parameter(const std::string& url, std::string_view name) {
    const std::string_view query = std::string_view(url).substr(url.find('?') + 1);
    for (const std::string_view pair : Split(query, '&')) {
      if (pair.substr(0, pair.find('=')) == name) {
        return PercentDecode(pair.substr(name.size() + 1)).value_or("undecodable");
      }
    }
    return "";
  }
  std::string CodeFor(const Fields& asking) {
    const std::string page = Press(Page(asking), key_);
    EXPECT_EQ(RawClient::StatusOf(page), 200) << page;
    return Parameter(Target(page), "code");
  }
  Fields Redeeming(const std::string& client, const std::string& code) const {
    return {{"grant_type", "authorization_code"},
            {"client_id", client},
            {"code", code},
            {"redirect_uri", kRedirect},
            {"code_verifier", kVerifier},
            {"resource", Resource()}};
  }
  Fields Refreshing(const std::string& client, const std::string& token) const {
    return {{"grant_type", "refresh_token"}, {"client_id", client}, {"refresh_token", token}};
  }
  struct Tokens {
    std::string access;
    std::string refresh;
  };
  static Tokens TokensOf(const std::string& answer) {
    EXPECT_EQ(RawClient::StatusOf(answer), 200) << answer;
    const boost::json::object object = JsonOf(answer);
    return {Text(object, "access_token"), Text(object, "refresh_token")};
  }
  Tokens SignedIn(const std::string& client) {
    return TokensOf(PostForm("/token", Redeeming(client, CodeFor(Asking(client)))));
  }
  Tokens Refreshed(const std::string& client, const std::string& token) {
    return TokensOf(PostForm("/token", Refreshing(client, token)));
  }
  // The endpoint's answer to a bearer token.
  std::string Call(std::string_view token) {
    return Ask(StrCat("POST /mcp HTTP/1.1\r\nHost: ", Host(), "\r\nAuthorization: Bearer ", token,
                      "\r\nContent-Length: 2\r\n\r\n{}"));
  }
  int CallStatus(std::string_view token) { return RawClient::StatusOf(Call(token)); }

  std::string DatabaseBytes() const {
    std::string all;
    for (const auto& file : std::filesystem::directory_iterator(folder_)) {
      std::ifstream stream(file.path(), std::ios::binary);
      all.append(std::istreambuf_iterator<char>(stream), {});
    }
    return all;
  }

  std::unique_ptr<oauth::Server> server_of_oauth_;
};

}  // namespace sandkeep
