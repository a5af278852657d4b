// `sandkeep-gateway links rotate|revoke`, beside a running gateway, which honours the change within
// a second. Messages for people go to `err`.
#pragma once

#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "common/random.h"

namespace sandkeep {

struct LinksArguments {
  std::vector<std::string> words;  // The verb, and what it is about.
  std::optional<absl::Duration> overlap = std::nullopt;
  bool now = false;
};

class LinksCommand {
 public:
  struct Parts {
    std::string state_dir;
    Random& random;
    const Clock& clock;
    std::ostream& err;
  };
  explicit LinksCommand(Parts parts) : parts_(std::move(parts)) {}

  // The exit code: 0, 1 (failed), 2 (wrong usage).
  int Run(const LinksArguments& arguments);

 private:
  absl::Status Do(const LinksArguments& arguments);
  absl::Status Revoke(const std::string& what);

  const Parts parts_;
};

}  // namespace sandkeep
