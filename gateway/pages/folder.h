// The page that shows a person what is in a folder: a link for each thing, and for all of it at
// once. Without a script. Any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"

namespace sandkeep {

// Names are of any bytes, and are made harmless here.
struct FolderEntryView {
  std::string name;
  std::string href;  // Empty: it isn't linked, and `size` says why.
  bool folder = false;
  std::string size;  // In words.
  absl::Time changed;
};

struct FolderPageView {
  std::string name;
  std::vector<FolderEntryView> entries;  // Those that are shown, in their order.
  std::string summary;                   // Of all that are there, in words.
  std::string left_out;                  // What isn't shown, in words; empty: nothing.
  std::string_view ending;  // Of the archive that this page's own link is; empty: none.
  std::string other_href;   // The other archive's; empty: there is none.
  std::string_view other_ending;
  absl::Time until;  // When the links end.
};

// What an address has behind it whose archive is meant, whoever asks.
inline constexpr std::string_view kAsArchive = "download";

std::string FolderPage(const FolderPageView& view);

// The Content-Security-Policy that it needs.
const std::string& FolderPagePolicy();

}  // namespace sandkeep
