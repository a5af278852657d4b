// `sandkeep-gateway keys add NAME | list | remove NAME`, beside a running gateway, which honours
// the change within a second. `add` prints the key on `out` and nothing else; messages for people
// go to `err`.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "common/clock.h"
#include "common/random.h"

namespace sandkeep {

// The exit code: 0, 1 (failed), 2 (wrong usage).
int RunKeysCommand(const std::string& state_dir, const std::vector<std::string>& arguments,
                   Random& random, const Clock& clock, std::ostream& out, std::ostream& err);

}  // namespace sandkeep
