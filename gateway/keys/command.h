// `sandkeep-gateway keys add|list|rotate|remove`, beside a running gateway, which honours the
// change within a second. `add` and `rotate` print the key on `out` and nothing else; messages for
// people go to `err`.
#pragma once

#include <functional>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "common/random.h"
#include "common/secret.h"
#include "gateway/keys/key_table.h"

namespace sandkeep {

struct KeysArguments {
  std::vector<std::string> words;  // The verb, and what it is about.
  std::optional<std::string> device = std::nullopt;
  bool adopt = false;
  std::optional<absl::Duration> overlap = std::nullopt;
  bool now = false;
};

class KeysCommand {
 public:
  struct Parts {
    std::string state_dir;
    // How many sandboxes a principal has; an error if the agent can't be asked.
    std::function<absl::StatusOr<int>(const std::string& principal)> count_sandboxes;
    Random& random;
    const Clock& clock;
    std::ostream& out;
    std::ostream& err;
  };
  explicit KeysCommand(Parts parts) : parts_(std::move(parts)) {}

  // The exit code: 0, 1 (failed), 2 (wrong usage).
  int Run(const KeysArguments& arguments);

 private:
  absl::Status Do(const KeysArguments& arguments);
  absl::Status Print(const absl::StatusOr<Secret>& key);
  absl::Status Remove(KeyTable& table, const std::string& name);

  const Parts parts_;
};

}  // namespace sandkeep
