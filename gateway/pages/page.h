// The frame of every page: head, style, title. Nothing is loaded from anywhere: the policy allows
// the one style by its hash and forms to ourselves, and a script only by its hash too. Any thread.
#pragma once

#include <string>
#include <string_view>

namespace sandkeep {

enum class PageWidth { kText, kList };

// `title` is escaped here; `head` and `body` are markup of ours.
std::string RenderPage(std::string_view title, std::string_view body, std::string_view head = "",
                       PageWidth width = PageWidth::kText);

// The Content-Security-Policy that every page of RenderPage needs.
const std::string& PagePolicy();
// The same for one that has none.
const std::string& PagePolicyWithoutForms();
// The same for one that runs this script, and lets it ask us and nobody else.
std::string PagePolicyWith(std::string_view script);

// A heading and a sentence; with a link after it if `href` isn't empty.
std::string MessagePage(std::string_view title, std::string_view text, std::string_view href = "",
                        std::string_view link_text = "");

}  // namespace sandkeep
