// Where a contract test finds podman: as the engine's user, with its HOME and XDG_RUNTIME_DIR, and
// sandkeep-init named by SANDKEEP_TEST_INIT. tests/run.sh contract sets that up.
#pragma once

#include <filesystem>
#include <string>

#include "agent/runtime/podman_options.h"

namespace sandkeep {

// Why podman can't be tried here; empty: it can.
std::string WhyNoPodman();

// A folder of the test's own that containers may reach into.
std::filesystem::path MakeStateFolder();

PodmanOptions TestOptions(InstanceId instance, const std::filesystem::path& state);

}  // namespace sandkeep
