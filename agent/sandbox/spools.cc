#include "agent/sandbox/spools.h"

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "common/status_macros.h"
#include "common/strings.h"

namespace sandkeep {
namespace {

std::string PathOf(const std::string& state_dir, std::string_view name) {
  return StrCat(state_dir, "/spools/", name);
}

}  // namespace

std::string SpoolFolder(const std::string& state_dir, const SandboxKey& key) {
  return PathOf(state_dir, key.text());
}

absl::StatusOr<std::string> SetSpoolsAside(const std::string& state_dir, std::string_view name,
                                           Random& random) {
  // A dot begins no key.
  std::string aside = StrCat(".gone-", JobId::Random(random).hex());
  const std::string from = PathOf(state_dir, name);
  if (std::rename(from.c_str(), PathOf(state_dir, aside).c_str()) == 0) return aside;
  if (errno != ENOENT) RETURN_IF_ERROR(RemoveSpools(state_dir, name));
  return std::string();
}

absl::Status RemoveSpools(const std::string& state_dir, std::string_view name) {
  std::error_code error;
  std::filesystem::remove_all(PathOf(state_dir, name), error);
  return error ? absl::InternalError(error.message()) : absl::OkStatus();
}

}  // namespace sandkeep
