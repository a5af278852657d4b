#include "gateway/pages/sign_in.h"

#include "common/strings.h"
#include "gateway/pages/markup.h"
#include "gateway/pages/page.h"

namespace sandkeep {
namespace {

constexpr std::string_view kStayScope = "offline_access";

std::string NameOf(std::string_view client_name) {
  return client_name.empty() ? "An app without a name" : Isolated(client_name);
}

std::string Permission(std::string_view sentence, std::string_view scope) {
  std::string item = StrCat("<li>", sentence);
  if (!scope.empty()) StrAppend(&item, " <span class=\"soft\">(", EscapeHtml(scope), ")</span>");
  return item + "</li>\n";
}

std::string Permissions(const std::vector<std::string>& scopes) {
  std::string list = "<ul>\n";
  std::string_view stay;
  for (const std::string& scope : scopes) {
    if (scope == kStayScope) {
      stay = kStayScope;
    } else if (scope == "sandbox") {
      list += Permission(
          "Run commands in your sandboxes, and read, change and hand out the files in them", scope);
    } else {
      list += Permission("", scope);
    }
  }
  // Every client gets that, whether it asks for it or not.
  list += Permission("Stay signed in until your access key is removed", stay);
  return list + "</ul>\n";
}

std::string LocalWarning() {
  return "<p class=\"note\"><strong>Did you just start this sign-in yourself?</strong> It comes "
         "from "
         "a program on this device, and any program here can use this name. If you didn’t, choose "
         "Deny.</p>\n";
}

std::string KeyField(const std::string& problem) {
  std::string field;
  if (!problem.empty()) {
    StrAppend(&field, "<p class=\"problem\" role=\"alert\" id=\"problem\">", EscapeHtml(problem),
              "</p>\n");
  }
  StrAppend(&field,
            // For password managers, which file a secret under a name.
            "<input name=\"username\" value=\"Sandkeep\" autocomplete=\"username\" hidden>\n"
            "<label for=\"key\">Access key</label>\n"
            "<input id=\"key\" name=\"key\" type=\"password\" required autocomplete=\""
            "current-password\" autocapitalize=\"off\" spellcheck=\"false\" maxlength=\"512\" "
            "aria-describedby=\"",
            problem.empty() ? "" : "problem ", "hint\"",
            problem.empty() ? "" : " aria-invalid=\"true\" autofocus",
            ">\n<p class=\"soft\" id=\"hint\">It begins with <code>sk-</code>. Whoever runs this "
            "server has it for you.</p>\n");
  return field;
}

}  // namespace

std::string SignInPage(const SignInView& view) {
  const std::string name = NameOf(view.client_name);
  std::string body = StrCat("<h1>", name, " wants to use your sandboxes</h1>\n");
  StrAppend(&body, "<dl>\n<dt>App, as it calls itself</dt>\n<dd>", name,
            "</dd>\n<dt>Afterwards your browser goes to</dt>\n<dd>", Isolated(view.redirect_target),
            "</dd>\n</dl>\n");
  if (view.local_client) body += LocalWarning();
  StrAppend(&body, "<h2>It may then</h2>\n", Permissions(view.scopes));
  StrAppend(&body,
            "<form method=\"post\" action=\"/authorize\">\n<input type=\"hidden\" name=\"request\" "
            "value=\"",
            EscapeHtml(view.request), "\">\n<input type=\"hidden\" name=\"token\" value=\"",
            EscapeHtml(view.token), "\">\n", KeyField(view.problem));
  body +=
      "<div class=\"actions\">\n"
      "<button class=\"main-action\" name=\"decision\" value=\"allow\">Allow</button>\n"
      "<button name=\"decision\" value=\"deny\" formnovalidate>Deny</button>\n</div>\n</form>\n";
  return RenderPage("Sign in to Sandkeep", body);
}

std::string ReturnPage(std::string_view url, std::string_view client_name, bool allowed) {
  const std::string_view title = allowed ? "Signed in" : "Not let in";
  const std::string address = EscapeHtml(url);
  const std::string body =
      StrCat("<h1>", title, "</h1>\n<p>", NameOf(client_name),
             allowed ? " can use your sandboxes now." : " gets no access.",
             " If nothing happens, go on by hand; you can close this page afterwards.</p>\n"
             "<p class=\"actions\"><a class=\"button main-action\" rel=\"noreferrer\" href=\"",
             address, "\">Go back to the app</a></p>\n");
  return RenderPage(title, body,
                    StrCat("<meta http-equiv=\"refresh\" content=\"0;url=", address, "\">\n"));
}

}  // namespace sandkeep
