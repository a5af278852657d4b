// The environment of a command: a fixed base of ours, and over it what the caller gave. Nothing of
// the host or of init's own environment gets in. PWD is the shell's to set.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "sandkeep/init/v1/init.pb.h"

namespace sandkeep::init {

class Environment {
 public:
  // InvalidArgument: a name that is empty or holds `=`, a NUL, or more than the limits.
  static absl::StatusOr<Environment> Make(const v1::Start& start);

  // For exec; as long as this lives.
  std::vector<char*> Pointers();

  const std::vector<std::string>& entries() const { return entries_; }

 private:
  void Set(std::string_view name, std::string_view value);

  std::vector<std::string> entries_;
};

}  // namespace sandkeep::init
