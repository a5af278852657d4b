// FILE_TTL: what lies at the top of a workspace goes when nothing in it has changed for so long.

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <functional>

#include "common/strings.h"
#include "tests/unit/agent/sandbox/agent_fixture.h"

namespace sandkeep {
namespace {

namespace fs = std::filesystem;

class CleanUpTest : public AgentTest {
 protected:
  CleanUpTest() {
    limits_.file_ttl = absl::Hours(1);
    limits_.cleanup_interval = absl::Milliseconds(5);
    // The kernel gives the times of files.
    clock_.SetWallClock(absl::Now());
  }

  fs::path data() const { return runtime_.data(runtime_.volumes().front()); }
  static absl::Time Changed(const fs::path& path) {
    struct stat info{};
    EXPECT_EQ(::lstat(path.c_str(), &info), 0) << path;
    return absl::TimeFromTimespec(info.st_ctim);
  }
  // As time does: a date that is only set makes nothing old.
  void ItBecomes(absl::Time time) { clock_.Advance(time - clock_.Now()); }
  static bool Becomes(const std::function<bool()>& so) {
    const auto end = std::chrono::steady_clock::now() + kTestPatience;
    while (!so() && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    return so();
  }
};

TEST_F(CleanUpTest, AnOldEntryGoesAndOneWithSomethingNewInItStays) {
  OutputOf(alice_, "otter", "mkdir -p used/deep old; echo 1 >old/f; ln -s /etc old/etc; echo 2 >o");
  const absl::Time old = std::max(Changed(data() / "old"), Changed(data() / "o"));
  const fs::path fresh = data() / "used" / "deep" / "new";
  do {
    std::ofstream(fresh) << "3";
  } while (Changed(fresh) < old + absl::Milliseconds(50));
  ItBecomes(old + limits_.file_ttl + absl::Milliseconds(25));
  EXPECT_TRUE(Becomes([&]() { return !fs::exists(data() / "old") && !fs::exists(data() / "o"); }));
  EXPECT_EQ(OutputOf(alice_, "otter", "cat used/deep/new; ls"), "3used\n");
  EXPECT_TRUE(fs::exists("/etc/passwd"));
}

// It is no use of the sandbox: it would never be old.
TEST_F(CleanUpTest, CleaningUpIsNoUse) {
  OutputOf(alice_, "otter", "echo 1 >f");
  const absl::Time used = manager().Get(RefOf(alice_, "otter"))->last_used;
  ItBecomes(Changed(data() / "f") + 2 * limits_.file_ttl);
  EXPECT_TRUE(Becomes([&]() { return !fs::exists(data() / "f"); }));
  EXPECT_EQ(manager().Get(RefOf(alice_, "otter"))->last_used, used);
}

TEST_F(CleanUpTest, WhatCannotBeLookedAtStaysAndTheRestGoes) {
  OutputOf(alice_, "otter", "mkdir half; echo 1 >half/f; echo 2 >z");
  fs::create_directory(data() / "half" / "closed");
  fs::permissions(data() / "half" / "closed", fs::perms::none);
  ItBecomes(Changed(data() / "half" / "closed") + 2 * limits_.file_ttl);
  EXPECT_TRUE(Becomes([&]() { return !fs::exists(data() / "z"); }));
  EXPECT_TRUE(fs::exists(data() / "half" / "f"));
}

}  // namespace
}  // namespace sandkeep
