// The cookie that binds a sign-in form to the browser that was shown it. It says nothing and gives
// nothing: 256 random bits. Any thread.
#pragma once

#include <string>
#include <string_view>

#include "common/random.h"
#include "gateway/http/request.h"

namespace sandkeep::oauth {

// `https`: whether people reach us that way. Then the name begins with __Host-, which no other host
// and no plain-text answer can set.
class BrowserCookie {
 public:
  // Empty: the browser sent none that could be ours.
  static std::string Read(const http::Request& request);

  // The browser's own, so that a second tab doesn't end the first one's form, or a new one.
  static std::string ReadOrMake(const http::Request& request, Random& random);

  static http::Header Header(const http::Request& request, std::string_view value);
};

}  // namespace sandkeep::oauth
