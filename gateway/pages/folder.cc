#include "gateway/pages/folder.h"

#include "common/strings.h"
#include "gateway/pages/markup.h"
#include "gateway/pages/page.h"

namespace sandkeep {
namespace {

// In words that sort, too. Whose clock it is the page can't know without a script.
std::string TimeMarkup(absl::Time time, std::string_view attributes) {
  const auto as = [time](absl::string_view format) {
    return absl::FormatTime(format, time, absl::UTCTimeZone());
  };
  return StrCat("<time", attributes, " datetime=\"", as("%Y-%m-%dT%H:%MZ"), "\">",
                as("%Y-%m-%d %H:%M UTC"), "</time>");
}

// From left to right in every script, so that an ending stands where one looks for it.
std::string Named(std::string_view bytes) {
  return StrCat("<bdi dir=\"ltr\">", EscapeHtml(ShownName(bytes)), "</bdi>");
}

std::string Row(const FolderEntryView& entry) {
  const bool linked = !entry.href.empty();
  const std::string name = Named(entry.name);
  std::string row =
      StrCat("<li class=\"", entry.folder ? "folder" : "file", linked ? "" : " unlinked", "\">");
  if (linked) {
    StrAppend(&row, "<a class=\"name\" href=\"", EscapeHtml(entry.href), "\">", name, "</a> ");
  } else {
    StrAppend(&row, "<span class=\"name\">", name, "</span> ");
  }
  StrAppend(&row, "<span class=\"soft size\">", EscapeHtml(entry.size), "</span> ",
            TimeMarkup(entry.changed, " class=\"soft\""), "</li>\n");
  return row;
}

std::string Actions(const FolderPageView& view) {
  std::string markup = StrCat("<p class=\"actions\"><a class=\"button main-action\" href=\"?",
                              kAsArchive, "\">Download all (", EscapeHtml(view.ending), ")</a>");
  if (!view.other_href.empty()) {
    StrAppend(&markup, "\n<a class=\"button\" href=\"", EscapeHtml(view.other_href), "?",
              kAsArchive, "\">As ", EscapeHtml(view.other_ending), "</a>");
  }
  return markup + "</p>\n";
}

}  // namespace

std::string FolderPage(const FolderPageView& view) {
  std::string body = StrCat("<h1>", Named(view.name), "</h1>\n<p class=\"soft\">",
                            EscapeHtml(view.summary), "</p>\n");
  if (!view.entries.empty()) {
    if (!view.ending.empty()) body += Actions(view);
    // Without markers some screen readers take it for no list.
    body += "<ul class=\"entries\" role=\"list\">\n";
    for (const FolderEntryView& entry : view.entries) body += Row(entry);
    body += "</ul>\n";
  }
  if (!view.left_out.empty()) {
    StrAppend(&body, "<p class=\"note\">", EscapeHtml(view.left_out), "</p>\n");
  }
  StrAppend(&body, "<p class=\"soft\">This page and its links work until ",
            TimeMarkup(view.until, ""), ".</p>\n");
  // Whoever may fetch it: it is for nobody's index.
  return RenderPage(ShownName(view.name), body,
                    "<meta name=\"robots\" content=\"noindex, nofollow\">\n", PageWidth::kList);
}

const std::string& FolderPagePolicy() { return PagePolicyWithoutForms(); }

}  // namespace sandkeep
