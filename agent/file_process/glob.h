// A pattern for paths: `*` and `?` within one name, `[abc]`, `[a-z]`, `[!a]`, and `**` for any
// number of folders; a `[` without its end is itself. As in a shell, what begins with a dot is only
// matched by a dot. Works in steps that are bounded by pattern times path, whatever either is.
// Plain value; any thread.
#pragma once

#include <bitset>
#include <cstddef>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace sandkeep {

class Glob {
 public:
  // InvalidArgument: over kMaxPatternBytes, absolute, `..` or NUL in it. Empty: every name of the
  // folder itself, dots too.
  static absl::StatusOr<Glob> Parse(std::string_view pattern);

  // `path` is relative to the folder that is searched.
  bool Matches(std::string_view path) const;

  // Something below this folder may match.
  bool LeadsInto(std::string_view folder) const;

 private:
  // `*`, or the bytes that one byte may be: read once, so that a match reads no set again.
  struct Element {
    bool star = false;
    std::bitset<256> bytes;
  };
  struct Part {
    bool any_folders = false;  // `**`
    bool dotted = false;       // It begins with a dot itself.
    std::vector<Element> elements;
  };

  static Element ReadElement(std::string_view pattern, std::size_t& at);
  static Part ReadPart(std::string_view pattern);
  static bool MatchesName(const Part& part, std::string_view name);

  explicit Glob(std::vector<Part> parts) : parts_(std::move(parts)) {}
  // `prefix`: whether a longer path could, else whether this one does.
  bool Fits(const std::vector<std::string_view>& names, bool prefix) const;

  std::vector<Part> parts_;
};

}  // namespace sandkeep
