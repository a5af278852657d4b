#include "gateway/landlock.h"

#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "common/status_codes.h"
#include "common/status_macros.h"
#include "common/strings.h"
#include "common/unique_fd.h"

namespace sandkeep {
namespace {

// Debian 12's header ends at version 2: what came later has names of our own.
constexpr std::uint64_t kTruncate = 1U << 14U;            // LANDLOCK_ACCESS_FS_TRUNCATE
constexpr std::uint64_t kControlDevice = 1U << 15U;       // LANDLOCK_ACCESS_FS_IOCTL_DEV
constexpr std::uint64_t kBindTcp = 1U << 0U;              // LANDLOCK_ACCESS_NET_BIND_TCP
constexpr std::uint64_t kConnectTcp = 1U << 1U;           // LANDLOCK_ACCESS_NET_CONNECT_TCP
constexpr std::uint64_t kScopeAbstractSocket = 1U << 0U;  // LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET
constexpr std::uint64_t kScopeSignal = 1U << 1U;          // LANDLOCK_SCOPE_SIGNAL

// Those of version 1, from EXECUTE to MAKE_SYM, and REFER, which is refused even where it isn't
// handled.
constexpr std::uint64_t kOfVersion1 = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1U) - 1;

// struct landlock_ruleset_attr as version 6 has it. The kernel is told how much of it is filled.
struct RulesetAttributes {
  std::uint64_t files;
  std::uint64_t network;
  std::uint64_t scoped;
};

struct Handled {
  RulesetAttributes attributes{};
  std::size_t size = offsetof(RulesetAttributes, network);
};

Handled HandledBy(int version, const Reach& reach) {
  Handled handled;
  handled.attributes.files = kOfVersion1;
  if (version >= 2) handled.attributes.files |= LANDLOCK_ACCESS_FS_REFER;
  if (version >= 3) handled.attributes.files |= kTruncate;
  if (version >= 4) {
    handled.attributes.network = kBindTcp | kConnectTcp;
    handled.size = offsetof(RulesetAttributes, scoped);
  }
  if (version >= 5) handled.attributes.files |= kControlDevice;
  if (version >= 6) {
    handled.attributes.scoped = kScopeSignal;
    if (!reach.abstract_sockets) handled.attributes.scoped |= kScopeAbstractSocket;
    handled.size = sizeof(RulesetAttributes);
  }
  return handled;
}

constexpr std::uint64_t kReadFile = LANDLOCK_ACCESS_FS_READ_FILE;
constexpr std::uint64_t kReadBelow = kReadFile | LANDLOCK_ACCESS_FS_READ_DIR;
constexpr std::uint64_t kWriteBelow = kReadBelow | LANDLOCK_ACCESS_FS_WRITE_FILE |
                                      LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_REMOVE_FILE |
                                      kTruncate;

absl::Status AllowBelow(int ruleset, const UniqueFd& place, std::uint64_t access) {
  landlock_path_beneath_attr rule{.allowed_access = access, .parent_fd = place.get()};
  if (::syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) != 0) {
    return ErrnoStatus(errno, "landlock_add_rule");
  }
  return absl::OkStatus();
}

absl::Status AllowWriting(int ruleset, const std::string& path, std::uint64_t handled) {
  const UniqueFd place(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!place) return ErrnoStatus(errno, path);
  return AllowBelow(ruleset, place, kWriteBelow & handled);
}

absl::Status AllowReading(int ruleset, const std::string& path) {
  const UniqueFd place(::open(path.c_str(), O_PATH | O_CLOEXEC));
  if (!place && errno == ENOENT) return absl::OkStatus();
  if (!place) return ErrnoStatus(errno, path);
  struct stat about{};
  if (::fstat(place.get(), &about) != 0) return ErrnoStatus(errno, path);
  return AllowBelow(ruleset, place, S_ISDIR(about.st_mode) ? kReadBelow : kReadFile);
}

}  // namespace

int LandlockVersion() {
  const auto version = static_cast<int>(
      ::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION));
  return version < 0 ? 0 : version;
}

absl::StatusOr<int> RestrictReach(const Reach& reach) {
  const int version = LandlockVersion();
  if (version == 0) return 0;
  const Handled handled = HandledBy(version, reach);
  const UniqueFd ruleset(static_cast<int>(
      ::syscall(SYS_landlock_create_ruleset, &handled.attributes, handled.size, 0)));
  if (!ruleset) return ErrnoStatus(errno, "landlock_create_ruleset");
  for (const std::string& path : reach.written) {
    RETURN_IF_ERROR(AllowWriting(ruleset.get(), path, handled.attributes.files));
  }
  for (const std::string& path : reach.read) {
    RETURN_IF_ERROR(AllowReading(ruleset.get(), path));
  }
  if (::syscall(SYS_landlock_restrict_self, ruleset.get(), 0) != 0) {
    return ErrnoStatus(errno, "landlock_restrict_self");
  }
  return version;
}

}  // namespace sandkeep
