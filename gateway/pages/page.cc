#include "gateway/pages/page.h"

#include "absl/strings/escaping.h"
#include "common/digest.h"
#include "common/strings.h"
#include "gateway/pages/markup.h"

namespace sandkeep {
namespace {

// Every pair of colours has a contrast of 4.5 and more. What can be pressed is 44 px high.
constexpr std::string_view kStyle = R"css(
:root { color-scheme: light dark; --page: #f4f5f7; --card: #fff; --text: #1b1f24; --soft: #57606a;
  --line: #868e96; --rule: #dfe3e7; --act: #0b57d0; --on-act: #fff; --warn: #fff4ce; --bad: #b3261e; }
@media (prefers-color-scheme: dark) {
  :root { --page: #101418; --card: #1b2026; --text: #e6e9ec; --soft: #a9b2bc; --line: #76808a;
    --rule: #30373f; --act: #a8c7fa; --on-act: #062e6f; --warn: #3a3000; --bad: #ffb4ab; }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--text);
  font: 1rem/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
main { max-width: 30rem; margin: 0 auto; padding: 1.5rem 1rem; }
.card { background: var(--card); border-radius: .75rem; padding: 1.5rem; }
h1 { font-size: 1.35rem; line-height: 1.3; margin: 0 0 1rem; }
h2 { font-size: 1rem; margin: 1.25rem 0 .25rem; }
p, dl, ul { margin: 0 0 1rem; }
dt { color: var(--soft); font-size: .875rem; }
dd { margin: 0 0 .5rem; font-weight: 600; }
ul { padding-left: 1.25rem; }
.note { background: var(--warn); border-left: .25rem solid var(--line); padding: .75rem; }
.problem { color: var(--bad); font-weight: 600; }
input + .soft { margin-top: .375rem; }
.soft { color: var(--soft); font-size: .875rem; }
label { display: block; font-weight: 600; margin-bottom: .25rem; }
input { width: 100%; min-height: 2.75rem; padding: .5rem .75rem; font: inherit;
  color: inherit; background: var(--page); border: 1px solid var(--line); border-radius: .5rem; }
.actions { display: flex; flex-wrap: wrap; gap: .75rem; margin-top: 1.25rem; }
button, .button { flex: 1 1 8rem; min-height: 2.75rem; padding: .5rem 1rem; font: inherit;
  font-weight: 600; text-align: center; text-decoration: none; border-radius: .5rem;
  border: 1px solid var(--line); background: transparent; color: var(--text); cursor: pointer; }
#drop { border: 2px dashed var(--line); border-radius: .5rem; padding: 1rem; }
#drop.over { border-color: var(--act); }
progress { width: 100%; height: .75rem; accent-color: var(--act); }
.button input { position: absolute; width: 1px; height: 1px; min-height: 0; opacity: 0; }
.button:focus-within { outline: 3px solid var(--act); outline-offset: 2px; }
.main-action { background: var(--act); border-color: var(--act); color: var(--on-act); }
main.list { max-width: 50rem; }
.list .button { display: flex; align-items: center; justify-content: center; }
.list .main-action { flex: 3 1 14rem; }
.entries { list-style: none; padding: 0; margin: 1.25rem 0 1rem; border-bottom: 1px solid var(--rule); }
.entries li { display: grid; grid-template-columns: minmax(0, 1fr) 7rem 10.5rem; column-gap: 1rem;
  align-items: center; border-top: 1px solid var(--rule); }
.entries li:hover { background: var(--page); }
.name { display: flex; align-items: center; gap: .625rem; min-height: 2.75rem;
  padding: .5rem .25rem; white-space: pre-wrap; }
.name::before { content: ""; flex: none; width: 1.125rem; height: 1.125rem;
  background: var(--line); clip-path: polygon(15% 0, 60% 0, 88% 28%, 88% 100%, 15% 100%); }
.folder .name { font-weight: 600; }
.folder .name::before { background: var(--act);
  clip-path: polygon(0 10%, 38% 10%, 50% 26%, 100% 26%, 100% 92%, 0 92%); }
.unlinked .name { color: var(--soft); }
a.name { color: var(--act); text-decoration: none; }
a.name:hover { text-decoration: underline; }
.entries .soft { text-align: right; padding: .25rem 0; font-variant-numeric: tabular-nums; }
time { white-space: nowrap; }
@media (max-width: 40rem) {
  .entries li { grid-template-columns: minmax(0, 1fr) auto; padding: .25rem 0 .625rem; }
  .name { grid-column: 1 / -1; }
  .entries .size { text-align: left; padding-left: 2rem; }
}
:focus-visible { outline: 3px solid var(--act); outline-offset: 2px; }
)css";

std::string SourceOf(std::string_view text) {
  return StrCat("'sha256-", absl::Base64Escape(ToAbsl(Sha256(text))), "'");
}

std::string PolicyFor(std::string_view forms) {
  return StrCat("default-src 'none'; style-src ", SourceOf(kStyle), "; form-action ", forms,
                "; base-uri 'none'; frame-ancestors 'none'");
}

}  // namespace

std::string RenderPage(std::string_view title, std::string_view body, std::string_view head,
                       PageWidth width) {
  return StrCat(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n",
      head, "<title>", EscapeHtml(title), "</title>\n<style>", kStyle,
      "</style>\n</head>\n<body>\n<main", width == PageWidth::kList ? " class=\"list\"" : "",
      ">\n<div class=\"card\">\n", body, "</div>\n</main>\n</body>\n</html>\n");
}

const std::string& PagePolicy() {
  static const std::string policy = PolicyFor("'self'");
  return policy;
}

const std::string& PagePolicyWithoutForms() {
  static const std::string policy = PolicyFor("'none'");
  return policy;
}

std::string PagePolicyWith(std::string_view script) {
  return StrCat(PagePolicy(), "; script-src ", SourceOf(script), "; connect-src 'self'");
}

std::string MessagePage(std::string_view title, std::string_view text, std::string_view href,
                        std::string_view link_text) {
  std::string body = StrCat("<h1>", EscapeHtml(title), "</h1>\n<p>", EscapeHtml(text), "</p>\n");
  if (!href.empty()) {
    StrAppend(&body, "<p class=\"actions\"><a class=\"button\" rel=\"noreferrer\" href=\"",
              EscapeHtml(href), "\">", EscapeHtml(link_text), "</a></p>\n");
  }
  return RenderPage(title, body);
}

}  // namespace sandkeep
