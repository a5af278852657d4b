// The mistakes of somebody who should hear of all of them at once. A plain value.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "common/strings.h"

namespace sandkeep {

class Mistakes {
 public:
  void Add(std::string_view mistake) { StrAppend(&lines_, lines_.empty() ? "" : "\n", mistake); }
  // Nothing, if that is OK.
  void Add(const absl::Status& status) {
    if (!status.ok()) Add(ToStd(status.message()));
  }

  // InvalidArgument with a line for each, or OK.
  absl::Status status() const {
    return lines_.empty() ? absl::OkStatus() : absl::InvalidArgumentError(lines_);
  }

 private:
  std::string lines_;
};

}  // namespace sandkeep
