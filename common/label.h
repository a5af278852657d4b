// The name that a model gives a sandbox, in the one form in which it is compared.
//
// Normalised: ASCII letters lowered, each run of other ASCII than a-z0-9 becomes one '-', ends
// trimmed; what isn't ASCII stays as it is. `Amber Otter` and `amber-otter` are one label. Plain
// value; any thread.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace sandkeep {

class Label {
 public:
  // InvalidArgument: empty, over 64 bytes, not UTF-8, or nothing left after normalising.
  static absl::StatusOr<Label> Parse(std::string_view text);

  const std::string& text() const { return text_; }

  // The ASCII part, at most 24 characters, `sb` if there is none: the readable half of a key.
  std::string Slug() const;

  friend bool operator==(const Label&, const Label&) = default;
  friend auto operator<=>(const Label&, const Label&) = default;
  template <typename H>
  friend H AbslHashValue(H state, const Label& label) {
    return H::combine(std::move(state), label.text_);
  }

 private:
  explicit Label(std::string text) : text_(std::move(text)) {}
  std::string text_;
};

}  // namespace sandkeep
