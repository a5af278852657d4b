// What strangers send to the authorization server: a form on the first line, the headers that name
// a client or a browser on the second, a registration below. Nowhere that may be registered can run
// a script, a client_id stands for what was registered, and no page has more markup than its own.
#include <algorithm>
#include <boost/json/parse.hpp>
#include <string>

#include "absl/strings/ascii.h"
#include "common/limits.h"
#include "common/strings.h"
#include "common/utf8.h"
#include "gateway/oauth/browser_cookie.h"
#include "gateway/oauth/client.h"
#include "gateway/oauth/client_auth.h"
#include "gateway/oauth/form.h"
#include "gateway/oauth/pkce.h"
#include "gateway/oauth/redirect_uri.h"
#include "gateway/oauth/registration.h"
#include "gateway/oauth/resource.h"
#include "gateway/pages/page.h"
#include "gateway/pages/sign_in.h"
#include "tests/fakes/fake_random.h"
#include "tests/fuzz/fuzz_target.h"

namespace sandkeep {
namespace {

void CheckRedirect(std::string_view uri) {
  if (!oauth::CheckRedirectUri(uri).ok()) return;
  const std::string lower = absl::AsciiStrToLower(ToAbsl(uri));
  for (const std::string_view scheme : {"javascript:", "data:", "file:", "vbscript:", "about:"}) {
    Require(lower.compare(0, scheme.size(), scheme) != 0, "no scheme that a browser acts on");
  }
  Require(uri.find_first_of("\r\n \"<>\\") == std::string_view::npos, "no byte that ends a header");
  Require(oauth::RedirectMatches(uri, uri), "an address is itself");
  Require(IsUtf8(oauth::RedirectTarget(uri)), "a target can be shown");
}

std::size_t Count(std::string_view html, char c) {
  return static_cast<std::size_t>(std::count(html.begin(), html.end(), c));
}

void RequireSameMarkup(const std::string& plain, const std::string& html) {
  Require(IsUtf8(html), "a page is text");
  for (const char c : {'<', '>', '"'}) {
    Require(Count(plain, c) == Count(html, c), "a page has no markup but its own");
  }
}

// One text in every field of each page.
struct Pages {
  explicit Pages(const std::string& text)
      : sign_in(SignInPage({.client_name = StrCat("x", text),
                            .redirect_target = text,
                            .local_client = false,
                            .scopes = {StrCat("x", text)},
                            .request = text,
                            .token = text,
                            .problem = StrCat("x", text)})),
        message(MessagePage(text, text, StrCat("x", text), text)),
        way_back(ReturnPage(text, StrCat("x", text), true)) {}

  std::string sign_in;
  std::string message;
  std::string way_back;
};

void CheckPages(const std::string& text) {
  static const Pages plain("x");
  const Pages pages(text);
  RequireSameMarkup(plain.sign_in, pages.sign_in);
  RequireSameMarkup(plain.message, pages.message);
  RequireSameMarkup(plain.way_back, pages.way_back);
}

// Nobody has a secret of ours.
void CheckHeaders(std::string_view line, const oauth::Form& form) {
  http::Request request;
  request.public_base = "https://box.example";
  request.headers = {{"authorization", std::string(line)}, {"cookie", std::string(line)}};
  const oauth::ClientRegistry registry(Secret("a secret of the test's"));
  Require(!oauth::Authenticate(request, form, registry).ok(), "nobody is a client by a guess");
  const std::string cookie = oauth::BrowserCookie::Read(request);
  Require(cookie.empty() || cookie.size() == 43, "a cookie is one of ours");
}

void CheckForm(std::string_view text, std::string_view headers) {
  const absl::StatusOr<oauth::Form> form = oauth::Form::Parse(text);
  CheckPages(std::string(text));
  CheckHeaders(headers, form.ok() ? *form : oauth::Form());
  if (!form.ok()) return;
  CheckRedirect(form->Get("redirect_uri"));
  (void)oauth::Proves(form->Get("code_verifier"), form->Get("code_challenge"));
  (void)oauth::MeansOurResource(form->All("resource"), "https://box.example");
  for (const char* name : {"state", "client_id", "scope"}) {
    Require(IsUtf8(form->Get(name)), "a parameter is text");
    CheckPages(form->Get(name));
  }
}

// Where a browser may be sent is what was registered, but for a port of this device.
void CheckMatch(const std::string& registered, const std::string& given) {
  if (registered == given || !oauth::RedirectMatches(registered, given)) return;
  // A scheme is one in capitals too.
  Require(absl::AsciiStrToLower(registered.substr(0, 7)) == "http://" &&
              oauth::CheckRedirectUri(given).ok() && oauth::IsLocalRedirect(given),
          "only on this device is a port free");
  const auto path = [](const std::string& uri) {
    return uri.substr(std::min(uri.find_first_of("/?", 7), uri.size()));
  };
  Require(path(registered) == path(given), "a port alone is free");
}

void CheckRegistration(std::string_view body, const std::string& given) {
  const oauth::Registration registration = oauth::ReadRegistration(body);
  if (!registration.ok()) {
    Require(!registration.refusal.description.empty(), "a refusal says why");
    return;
  }
  for (const std::string& uri : registration.client.redirect_uris) {
    Require(oauth::CheckRedirectUri(uri).ok(), "what is registered may be");
    CheckMatch(uri, given);
  }
  FakeRandom random;
  const oauth::ClientRegistry registry(Secret("a secret of the test's"));
  const absl::StatusOr<oauth::Client> made = registry.Register(registration.client, random);
  if (!made.ok()) return;
  const auto answer =
      boost::json::parse(oauth::RegistrationAnswer(*made, registry.SecretOf(*made)));
  Require(answer.at("client_id").is_string(), "a registration is answered in JSON");
  const absl::StatusOr<oauth::Client> found = registry.Find(made->id);
  Require(found.ok() && found->redirect_uris == registration.client.redirect_uris &&
              found->name == registration.client.name,
          "a client_id is what was registered");
}

int TestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text = AsText(data, size);
  const std::string_view form = TakeUntil(&text, '\n');
  const std::string_view headers = TakeUntil(&text, '\n');
  CheckForm(form, headers);
  CheckRedirect(form);
  const oauth::ClientRegistry registry(Secret("a secret of the test's"));
  Require(!registry.Find(form).ok(), "nobody guesses a client_id");
  const absl::StatusOr<oauth::Form> parsed = oauth::Form::Parse(form);
  CheckRegistration(text, parsed.ok() ? parsed->Get("redirect_uri") : std::string(form));
  return 0;
}

}  // namespace
}  // namespace sandkeep

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return sandkeep::TestOneInput(data, size);
}
