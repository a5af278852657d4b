#include "tests/contract/podman_host.h"

#include <stdlib.h>
#include <unistd.h>

#include <utility>

namespace sandkeep {

namespace fs = std::filesystem;

namespace {

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

}  // namespace

fs::path MakeStateFolder() {
  char folder[] = "/tmp/sandkeep-contract-state.XXXXXX";
  if (::mkdtemp(folder) == nullptr) std::abort();
  fs::permissions(folder, static_cast<fs::perms>(0711));
  return folder;
}

PodmanOptions TestOptions(InstanceId instance, const fs::path& state) {
  PodmanOptions options(std::move(instance));
  options.init_path = Variable("SANDKEEP_TEST_INIT");
  options.state_dir = state.string();
  options.home = Variable("HOME");
  options.runtime_dir = Variable("XDG_RUNTIME_DIR");
  if (const std::string image = Variable("SANDKEEP_TEST_IMAGE"); !image.empty()) {
    options.image = image;
  }
  return options;
}

std::string WhyNoPodman() {
  if (Variable("SANDKEEP_TEST_INIT").empty()) return "SANDKEEP_TEST_INIT isn't set";
  if (Variable("HOME").empty() || Variable("XDG_RUNTIME_DIR").empty()) {
    return "HOME and XDG_RUNTIME_DIR must be those of the engine's user";
  }
  if (::geteuid() == 0) return "podman is rootless: run this as the engine's user";
  return "";
}

}  // namespace sandkeep
