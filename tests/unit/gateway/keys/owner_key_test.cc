// SANDBOX_API_KEY: one key that the settings say, and that is the owner's and nobody else's.

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <memory>

#include "common/random.h"
#include "gateway/keys/access_keys.h"
#include "gateway/keys/key_table.h"
#include "gateway/store/database.h"
#include "tests/fakes/fake_clock.h"

namespace sandkeep {
namespace {

class OwnerKeyTest : public testing::Test {
 protected:
  OwnerKeyTest() {
    std::string name = testing::TempDir() + "owner-key-XXXXXX";
    folder_ = ::mkdtemp(name.data());
  }
  ~OwnerKeyTest() override { std::filesystem::remove_all(folder_); }

  KeyTable Table() { return KeyTable(*OpenGatewayDatabase(folder_)); }
  std::unique_ptr<AccessKeys> Running() { return *AccessKeys::Start(Table(), clock_); }

  std::string folder_;
  FakeClock clock_;
};

TEST_F(OwnerKeyTest, IsTheOneThatTheSettingsSayAndNoEarlierOne) {
  KeyTable table = Table();
  const Secret first("one-long-enough-to-guess");
  EXPECT_FALSE(*table.GiveOwner(first, SystemRandom(), clock_));
  EXPECT_FALSE(*table.GiveOwner(first, SystemRandom(), clock_)) << "at the next start";
  const KeyOwner owner = Running()->Find(first.Reveal()).value();
  EXPECT_EQ(owner.name, "owner");

  const Secret second("another-long-enough-to-guess");
  EXPECT_TRUE(*table.GiveOwner(second, SystemRandom(), clock_));
  const auto again = Running();
  EXPECT_EQ(again->Find(second.Reveal()), owner) << "the same principal, with its sandboxes";
  EXPECT_EQ(again->Find(first.Reveal()), std::nullopt);
}

TEST_F(OwnerKeyTest, AnotherPersonsKeyDoesNotBecomeTheOwners) {
  KeyTable table = Table();
  const Secret carols = *table.Add("carol", SystemRandom(), clock_);
  EXPECT_TRUE(absl::IsAlreadyExists(table.GiveOwner(carols, SystemRandom(), clock_).status()));
  EXPECT_EQ(Running()->Find(carols.Reveal())->name, "carol");
}

}  // namespace
}  // namespace sandkeep
