// What strangers send to the authorization server: a form on the first line, a registration below
// it. Nowhere that may be registered can run a script, and a client_id stands for what was
// registered.
#include <string>

#include "absl/strings/ascii.h"
#include "common/limits.h"
#include "common/strings.h"
#include "common/utf8.h"
#include "gateway/oauth/client.h"
#include "gateway/oauth/form.h"
#include "gateway/oauth/pkce.h"
#include "gateway/oauth/redirect_uri.h"
#include "gateway/oauth/registration.h"
#include "gateway/oauth/resource.h"
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

void CheckForm(std::string_view text) {
  const absl::StatusOr<oauth::Form> form = oauth::Form::Parse(text);
  if (!form.ok()) return;
  CheckRedirect(form->Get("redirect_uri"));
  (void)oauth::Proves(form->Get("code_verifier"), form->Get("code_challenge"));
  (void)oauth::MeansOurResource(form->All("resource"), "https://box.example");
  for (const char* name : {"state", "client_id", "scope"}) {
    Require(IsUtf8(form->Get(name)), "a parameter is text");
  }
}

void CheckRegistration(std::string_view body) {
  const oauth::Registration registration = oauth::ReadRegistration(body);
  if (!registration.ok()) {
    Require(!registration.refusal.description.empty(), "a refusal says why");
    return;
  }
  for (const std::string& uri : registration.client.redirect_uris) {
    Require(oauth::CheckRedirectUri(uri).ok(), "what is registered may be");
  }
  FakeRandom random;
  const oauth::ClientRegistry registry(Secret("a secret of the test's"));
  const absl::StatusOr<oauth::Client> made = registry.Register(registration.client, random);
  if (!made.ok()) return;
  const absl::StatusOr<oauth::Client> found = registry.Find(made->id);
  Require(found.ok() && found->redirect_uris == registration.client.redirect_uris &&
              found->name == registration.client.name,
          "a client_id is what was registered");
}

}  // namespace
}  // namespace sandkeep

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sandkeep;
  std::string_view text = AsText(data, size);
  const std::string_view form = TakeUntil(&text, '\n');
  CheckForm(form);
  CheckRedirect(form);
  const oauth::ClientRegistry registry(Secret("a secret of the test's"));
  Require(!registry.Find(form).ok(), "nobody guesses a client_id");
  CheckRegistration(text);
  return 0;
}
