// What was installed in a container since its image, as a command that brings it back: packages
// that somebody asked for by apt, pip or npm, not what came along with them. Told from outside, by
// what the container's layer holds, so that nothing runs in the sandbox for it and it works on one
// that is stopped. The names come from inside: only those that can be names of packages are taken.
// Any thread; the calls block nobody.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "agent/file_process/file_process.h"
#include "common/async.h"
#include "common/ids.h"

namespace sandkeep {

struct InstalledPackages {
  std::vector<std::string> apt;
  std::vector<std::string> pip;  // NAME==VERSION
  std::vector<std::string> npm;

  friend bool operator==(const InstalledPackages&, const InstalledPackages&) = default;
};

// By name. `disk`: for reading a file. NotFound: this container has no layer that could be looked
// at.
Async<InstalledPackages> FindInstalled(FileProcess& files, boost::asio::any_io_executor disk,
                                       EngineName container);

// Empty: there is nothing to bring back.
std::string ReinstallCommand(const InstalledPackages& packages);

// The packages of apt's extended_states that it installed by itself. A sandbox may have written it.
absl::flat_hash_set<std::string> AutoInstalled(std::string_view states);

}  // namespace sandkeep
