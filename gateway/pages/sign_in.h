// The page on which a person signs in and lets a client in, and the one that sends the browser back
// to the client. Any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sandkeep {

// Everything is somebody else's text, and is escaped here.
struct SignInView {
  std::string client_name;      // What the client calls itself; may be empty.
  std::string redirect_target;  // Where the browser goes afterwards: a host, or a scheme.
  bool local_client = false;    // Any program on the person's device could be it.
  std::vector<std::string> scopes;
  std::string request;  // What the form carries back to us.
  std::string token;
  std::string problem;  // What was wrong with the last try; empty: there was none.
};

std::string SignInPage(const SignInView& view);

// Goes to `url` by itself, and has a link for browsers that don't. It is a page, and not a redirect
// of the form's answer, since Chromium holds every further hop of such a redirect against the
// form's policy, and where the client goes from its own address is not ours to know.
std::string ReturnPage(std::string_view url, std::string_view client_name, bool allowed);

}  // namespace sandkeep
