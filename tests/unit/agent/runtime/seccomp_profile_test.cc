// The profile is tried for real in tests/e2e; here: what it must never allow, and that it is one.

#include "agent/runtime/seccomp_profile.h"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <set>
#include <string>

namespace sandkeep {
namespace {

namespace json = boost::json;

// Calls allowed whatever their arguments.
std::set<std::string> FreelyAllowed(const json::value& profile) {
  std::set<std::string> names;
  for (const json::value& rule : profile.at("syscalls").as_array()) {
    if (!rule.at("args").as_array().empty()) continue;
    for (const json::value& name : rule.at("names").as_array()) {
      names.insert(std::string(name.as_string()));
    }
  }
  return names;
}

TEST(SeccompProfileTest, NothingIsAllowedThatMakesNamespacesMountsOrReachesTheKernel) {
  const json::value profile = json::parse(SeccompProfile());
  EXPECT_EQ(profile.at("defaultAction").as_string(), "SCMP_ACT_ERRNO");
  const std::set<std::string> allowed = FreelyAllowed(profile);
  for (const char* call : {"unshare",      "setns",       "clone",           "clone3",
                           "mount",        "umount2",     "open_tree",       "move_mount",
                           "fsopen",       "fsmount",     "mount_setattr",   "pivot_root",
                           "keyctl",       "add_key",     "request_key",     "io_uring_setup",
                           "io_setup",     "bpf",         "perf_event_open", "userfaultfd",
                           "memfd_secret", "init_module", "kexec_load",      "open_by_handle_at",
                           "socket",       "personality"}) {
    EXPECT_FALSE(allowed.contains(call)) << call;
  }
  for (const char* call :
       {"read", "execve", "futex", "rseq", "statx", "ptrace", "chroot", "mknodat",
        "landlock_create_ruleset", "copy_file_range", "prctl", "arch_prctl"}) {
    EXPECT_TRUE(allowed.contains(call)) << call;
  }
}

TEST(SeccompProfileTest, NoOtherArchitecturesCalls) {
  const json::value profile = json::parse(SeccompProfile());
  ASSERT_EQ(profile.at("archMap").as_array().size(), 1U);
  EXPECT_TRUE(profile.at("archMap").at(0).at("subArchitectures").as_array().empty());
}

TEST(SeccompProfileTest, SocketsAreOfFourFamilies) {
  const json::value profile = json::parse(SeccompProfile());
  std::set<std::int64_t> families;
  for (const json::value& rule : profile.at("syscalls").as_array()) {
    if (rule.at("names").at(0).as_string() != "socket") continue;
    EXPECT_EQ(rule.at("args").at(0).at("op").as_string(), "SCMP_CMP_EQ");
    families.insert(rule.at("args").at(0).at("value").as_int64());
  }
  EXPECT_EQ(families, (std::set<std::int64_t>{1, 2, 10, 16}));
}

}  // namespace
}  // namespace sandkeep
