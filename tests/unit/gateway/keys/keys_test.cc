// Access keys on a real database: who they belong to, what is stored of them, and that a running
// gateway sees what the command does.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <sstream>
#include <thread>

#include "common/random.h"
#include "common/strings.h"
#include "gateway/keys/access_keys.h"
#include "gateway/keys/command.h"
#include "gateway/keys/key_table.h"
#include "gateway/store/database.h"
#include "gateway/store/state_dir.h"
#include "tests/fakes/fake_clock.h"

namespace sandkeep {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using testing::HasSubstr;
using testing::Not;

class KeysTest : public testing::Test {
 protected:
  KeysTest() {
    std::string name = testing::TempDir() + "keys-XXXXXX";
    folder_ = ::mkdtemp(name.data());
  }
  ~KeysTest() override { std::filesystem::remove_all(folder_); }

  KeyTable Table() { return KeyTable(*OpenGatewayDatabase(folder_)); }

  int Run(KeysArguments arguments) {
    out_.str("");
    err_.str("");
    auto count = [this](const std::string& principal) -> absl::StatusOr<int> {
      asked_for_ = principal;
      return sandboxes_;
    };
    KeysCommand command({.state_dir = folder_,
                         .count_sandboxes = count,
                         .random = SystemRandom(),
                         .clock = clock_,
                         .out = out_,
                         .err = err_});
    return command.Run(arguments);
  }
  int Command(std::vector<std::string> words) { return Run({.words = std::move(words)}); }
  std::string Printed(KeysArguments arguments) {
    EXPECT_EQ(Run(std::move(arguments)), 0) << err_.str();
    std::string key = out_.str();
    EXPECT_EQ(key.back(), '\n');
    key.pop_back();
    return key;
  }
  std::string Added(const std::string& name) { return Printed({.words = {"add", name}}); }
  std::string Added(const std::string& name, const std::string& device) {
    return Printed({.words = {"add", name}, .device = device});
  }
  std::unique_ptr<AccessKeys> Running() { return *AccessKeys::Start(Table(), clock_); }

  // The refresh is a thread's, on a clock of its own: waited for by looking.
  template <typename Condition>
  bool Within(milliseconds limit, Condition condition) {
    const auto end = steady_clock::now() + limit;
    while (steady_clock::now() < end) {
      if (condition()) return true;
      std::this_thread::yield();
    }
    return condition();
  }

  std::string folder_;
  FakeClock clock_;
  absl::StatusOr<int> sandboxes_ = 0;
  std::string asked_for_;
  std::ostringstream out_;
  std::ostringstream err_;
};

TEST_F(KeysTest, AddPrintsTheKeyAloneAndStoresOnlyItsHash) {
  const std::string key = Added("ann");

  EXPECT_EQ(key.size(), 46u);
  EXPECT_THAT(key, testing::StartsWith("sk-"));
  EXPECT_EQ(err_.str(), "");
  for (const auto& file : std::filesystem::directory_iterator(folder_)) {
    std::ifstream stream(file.path(), std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(stream)), {});
    EXPECT_THAT(bytes, Not(HasSubstr(key.substr(3)))) << file.path();
  }
}

TEST_F(KeysTest, SeveralKeysOfANameAreOnePrincipal) {
  const std::string phone = Added("ann");
  const std::string laptop = Added("ann");
  const std::string other = Added("bob");
  auto keys = Running();

  EXPECT_NE(phone, laptop);
  EXPECT_EQ(keys->Find(phone)->principal, keys->Find(laptop)->principal);
  EXPECT_NE(keys->Find(phone)->principal, keys->Find(other)->principal);
  EXPECT_EQ(keys->Find(phone)->name, "ann");
  EXPECT_EQ(keys->Find(phone)->principal.prefix(), "key");
}

TEST_F(KeysTest, ARemovedNameAddedAgainIsANewPrincipal) {
  const std::string before = Added("ann");
  const PrincipalId old = Table().Load()->keys.begin()->second.owner.principal;
  ASSERT_EQ(Command({"remove", "ann"}), 0);
  const std::string after = Added("ann");
  auto keys = Running();

  EXPECT_FALSE(keys->Find(before).has_value());
  EXPECT_NE(keys->Find(after)->principal, old);
}

TEST_F(KeysTest, ListShowsNamesAndCountsButNoKey) {
  const std::string key = Added("ann");
  Added("ann");
  ASSERT_EQ(Command({"list"}), 0);

  EXPECT_THAT(out_.str(), HasSubstr("ann\tkey-"));
  EXPECT_THAT(out_.str(), HasSubstr("\t2 keys\t"));
  EXPECT_THAT(out_.str(), Not(HasSubstr(key)));
}

TEST_F(KeysTest, WrongUsageAndUnknownNamesSaySo) {
  EXPECT_EQ(Command({}), 2);
  EXPECT_EQ(Command({"add"}), 2);
  EXPECT_EQ(Command({"list", "x"}), 2);
  EXPECT_EQ(Command({"drop", "x"}), 2);
  EXPECT_EQ(Command({"remove", "nobody"}), 1);
  EXPECT_THAT(err_.str(), HasSubstr("nobody"));
  EXPECT_EQ(Command({"add", ""}), 1);
  EXPECT_EQ(Command({"add", std::string(65, 'x')}), 1);
  EXPECT_EQ(Command({"add", "a\nb"}), 1);
  EXPECT_EQ(Command({"add", "\xFF"}), 1);
  EXPECT_EQ(Command({"add", "Großmutters Telefon"}), 0);
}

TEST_F(KeysTest, ARunningGatewaySeesAnAddedKeyWithinASecond) {
  auto keys = Running();
  EXPECT_TRUE(keys->empty());

  const std::string key = Added("ann");

  EXPECT_TRUE(Within(milliseconds(1000), [&] { return keys->Find(key).has_value(); }));
  EXPECT_FALSE(keys->empty());
}

TEST_F(KeysTest, ARunningGatewayRefusesARemovedKeyWithinASecond) {
  const std::string key = Added("ann");
  auto keys = Running();
  ASSERT_TRUE(keys->Find(key).has_value());

  ASSERT_EQ(Command({"remove", "ann"}), 0);

  EXPECT_TRUE(Within(milliseconds(1000), [&] { return !keys->Find(key).has_value(); }));
}

// Else a revocation that couldn't be read at once would never be.
TEST_F(KeysTest, WhatTheDatabaseHasBesidesKeysIsReadUntilThatSucceeds) {
  std::atomic<int> tries{0};
  auto keys = *AccessKeys::Start(Table(), clock_, [&tries]() -> absl::Status {
    return ++tries < 3 ? absl::UnavailableError("busy") : absl::OkStatus();
  });
  const std::string key = Added("ann");
  EXPECT_TRUE(Within(milliseconds(5000), [&] { return tries >= 3; }));
  // The keys themselves don't wait for it.
  EXPECT_TRUE(keys->Find(key).has_value());
}

TEST_F(KeysTest, AnAlmostRightKeyIsWrong) {
  std::string key = Added("ann");
  auto keys = Running();
  key.back() = key.back() == 'A' ? 'B' : 'A';
  EXPECT_FALSE(keys->Find(key).has_value());
  EXPECT_FALSE(keys->Find(key.substr(0, 45)).has_value());
  EXPECT_FALSE(keys->Find("").has_value());
}

TEST_F(KeysTest, ALookUpCostsNoDiskAndLittleTime) {
  const std::string key = Added("ann");
  auto keys = Running();
  constexpr int kTimes = 20000;
  const auto begin = steady_clock::now();
  for (int i = 0; i < kTimes; ++i) ASSERT_TRUE(keys->Find(key).has_value());
  const auto each = (steady_clock::now() - begin) / kTimes;
  RecordProperty("nanoseconds", static_cast<int>(each.count()));
  // Far above what it is, for slow builds on busy machines; far below a read of the disk.
  EXPECT_LT(each, std::chrono::microseconds(50));
}

TEST_F(KeysTest, OneGatewayHoldsTheStateDirAndTheCommandStillWorks) {
  const absl::StatusOr<UniqueFd> first = LockStateDir(folder_);
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(LockStateDir(folder_).status().code(), absl::StatusCode::kFailedPrecondition);
  Added("ann");
}

TEST_F(KeysTest, AStateDirThatOthersMayWriteToIsRefused) {
  std::filesystem::permissions(folder_, std::filesystem::perms::all);
  EXPECT_EQ(PrepareStateDir(folder_).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(Command({"add", "ann"}), 1);
}

TEST_F(KeysTest, DevicesHaveNamesAndEachHasOneKey) {
  Added("ann");
  Added("ann");
  Added("ann", "phone");
  ASSERT_EQ(Command({"list"}), 0);
  EXPECT_THAT(out_.str(), HasSubstr("\n  key1\tsince "));
  EXPECT_THAT(out_.str(), HasSubstr("\n  key2\tsince "));
  EXPECT_THAT(out_.str(), HasSubstr("\n  phone\tsince "));
  EXPECT_EQ(Run({.words = {"add", "ann"}, .device = "phone"}), 1);
  EXPECT_THAT(err_.str(), HasSubstr("rotate"));
  EXPECT_EQ(Run({.words = {"add", "ann"}, .device = "a\tb"}), 1);
}

TEST_F(KeysTest, RemovingADeviceLeavesThePrincipalAndItsOtherKeys) {
  const std::string phone = Added("ann", "phone");
  const std::string laptop = Added("ann", "laptop");
  const PrincipalId before = Running()->Find(laptop)->principal;
  ASSERT_EQ(Run({.words = {"remove", "ann"}, .device = "phone"}), 0) << err_.str();
  EXPECT_EQ(Run({.words = {"remove", "ann"}, .device = "phone"}), 1);
  EXPECT_FALSE(Running()->Find(phone).has_value());
  EXPECT_EQ(Running()->Find(laptop)->principal, before);

  ASSERT_EQ(Run({.words = {"remove", "ann"}, .device = "laptop"}), 0);
  EXPECT_TRUE(Running()->HasPrincipal(before.text())) << "no key, but not removed";
  const std::string again = Added("ann");
  EXPECT_EQ(Running()->Find(again)->principal, before);
}

TEST_F(KeysTest, RotateKeepsThePrincipalAndEndsTheOldKeyAfterTheOverlap) {
  const std::string old = Added("ann");
  const auto keys = Running();
  const PrincipalId principal = keys->Find(old)->principal;
  const std::string fresh = Printed({.words = {"rotate", "ann"}});
  ASSERT_TRUE(Within(milliseconds(1000), [&] { return keys->Find(fresh).has_value(); }));

  EXPECT_EQ(keys->Find(fresh)->principal, principal);
  clock_.Advance(absl::Hours(24) - absl::Milliseconds(1));
  EXPECT_EQ(keys->Find(old)->principal, principal);
  clock_.Advance(absl::Milliseconds(1));
  EXPECT_FALSE(keys->Find(old).has_value());
  EXPECT_TRUE(keys->Find(fresh).has_value());
}

TEST_F(KeysTest, RotateNowEndsTheOldKeyAtOnceAndWhatWasToEnd) {
  const std::string first = Added("ann");
  const std::string second = Printed({.words = {"rotate", "ann"}, .overlap = absl::Hours(100)});
  ASSERT_TRUE(Running()->Find(first).has_value());
  const std::string third = Printed({.words = {"rotate", "ann"}, .now = true});

  EXPECT_FALSE(Running()->Find(first).has_value());
  EXPECT_FALSE(Running()->Find(second).has_value());
  EXPECT_TRUE(Running()->Find(third).has_value());
}

TEST_F(KeysTest, RotateOfSeveralKeysAsksWhich) {
  const std::string phone = Added("ann", "phone");
  const std::string laptop = Added("ann", "laptop");
  EXPECT_EQ(Command({"rotate", "ann"}), 1);
  EXPECT_THAT(err_.str(), HasSubstr("laptop, phone"));
  EXPECT_EQ(Run({.words = {"rotate", "ann"}, .device = "tablet"}), 1);
  Printed({.words = {"rotate", "ann"}, .device = "phone", .now = true});
  EXPECT_FALSE(Running()->Find(phone).has_value());
  EXPECT_TRUE(Running()->Find(laptop).has_value());
}

TEST_F(KeysTest, AnAdoptedNameIsWhoItWas) {
  const std::string before = Added("ann");
  const PrincipalId old = Running()->Find(before)->principal;
  EXPECT_EQ(Run({.words = {"add", "ann"}, .adopt = true}), 1) << "in use";
  ASSERT_EQ(Command({"remove", "ann"}), 0);
  const std::string after = Printed({.words = {"add", "ann"}, .adopt = true});
  EXPECT_EQ(Running()->Find(after)->principal, old);
  EXPECT_FALSE(Running()->Find(before).has_value());
  EXPECT_EQ(Run({.words = {"add", "bob"}, .adopt = true}), 1) << "nobody to adopt";
}

TEST_F(KeysTest, RemoveSaysHowManySandboxesAreLeft) {
  Added("ann");
  const std::string principal = *Table().PrincipalOf("ann");
  sandboxes_ = 3;
  ASSERT_EQ(Command({"remove", "ann"}), 0);
  EXPECT_THAT(err_.str(), HasSubstr("3 sandboxes"));
  EXPECT_EQ(asked_for_, principal);

  Added("bob");
  sandboxes_ = absl::UnavailableError("the agent isn't there");
  ASSERT_EQ(Command({"remove", "bob"}), 0) << "the key must go, whoever else is down";
  EXPECT_THAT(err_.str(), HasSubstr("an unknown number of sandboxes"));
  EXPECT_THAT(err_.str(), HasSubstr("the agent isn't there"));
}

TEST_F(KeysTest, FlagsOfAnotherVerbAreWrongUsage) {
  Added("ann");
  EXPECT_EQ(Run({.words = {"list"}, .device = "phone"}), 2);
  EXPECT_EQ(Run({.words = {"rotate", "ann"}, .adopt = true}), 2);
  EXPECT_EQ(Run({.words = {"add", "ann"}, .now = true}), 2);
  EXPECT_EQ(Run({.words = {"remove", "ann"}, .overlap = absl::Hours(1)}), 2);
  EXPECT_EQ(Run({.words = {"rotate", "ann"}, .overlap = absl::Hours(1), .now = true}), 2);
  EXPECT_EQ(Run({.words = {"rotate", "ann"}, .overlap = -absl::Hours(1)}), 2);
  EXPECT_EQ(Run({.words = {"rotate", "ann"}, .overlap = absl::InfiniteDuration()}), 2);
}

TEST_F(KeysTest, ADamagedDatabaseIsNamedAndLeftAsItIs) {
  Added("ann");
  const std::string path = folder_ + "/gateway.db";
  std::filesystem::remove(path + "-wal");
  std::filesystem::remove(path + "-shm");
  auto read = [&path] {
    std::ifstream stream(path, std::ios::binary);
    return std::string((std::istreambuf_iterator<char>(stream)), {});
  };
  std::string whole = read();
  ASSERT_GT(whole.size(), 8192u);
  // Not a database at all, and one with a page of rubbish in its middle.
  std::string inside = whole;
  inside.replace(4096, 4096, std::string(4096, '\xA5'));
  for (const std::string& damaged : {std::string(20000, 'x'), inside}) {
    std::ofstream(path, std::ios::binary) << damaged;
    const absl::Status status = OpenGatewayDatabase(folder_).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(path));
    EXPECT_THAT(std::string(status.message()), HasSubstr("backup"));
    EXPECT_THAT(std::string(status.message()), Not(HasSubstr("\n")));
    EXPECT_EQ(Command({"add", "bob"}), 1);
    EXPECT_EQ(read(), damaged);
  }
}

// SQLite itself would begin anew, and delete the log that has what isn't in the file yet.
TEST_F(KeysTest, ADatabaseThatWasEmptiedIsDamagedAndItsLogIsKept) {
  const auto open = OpenGatewayDatabase(folder_);  // As a gateway that is killed leaves it.
  Added("ann");
  const std::string path = folder_ + "/gateway.db";
  const std::string copy = folder_ + "/copy";
  std::filesystem::create_directory(copy);
  std::filesystem::permissions(copy, std::filesystem::perms::owner_all);
  std::filesystem::copy(path + "-wal", copy + "/gateway.db-wal");
  std::ofstream(copy + "/gateway.db").flush();
  const std::uintmax_t log = std::filesystem::file_size(path + "-wal");
  ASSERT_GT(log, 0u);
  const absl::Status status = OpenGatewayDatabase(copy).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("-wal"));
  EXPECT_EQ(std::filesystem::file_size(copy + "/gateway.db-wal"), log);
  // A start that found no room for its first page leaves an empty file, too, and no log.
  std::filesystem::remove(copy + "/gateway.db-wal");
  EXPECT_TRUE(OpenGatewayDatabase(copy).ok());
}

// A connection that closes moves the log into the file: not into one of which it may be the only
// whole part.
TEST_F(KeysTest, ADamagedDatabaseKeepsItsLogBesideIt) {
  Added("ann");
  const auto open = OpenGatewayDatabase(folder_);  // As a gateway that is killed leaves it.
  Added("bob");
  const std::string copy = folder_ + "/copy";
  std::filesystem::create_directory(copy);
  std::filesystem::permissions(copy, std::filesystem::perms::owner_all);
  const auto read = [](const std::string& path) {
    std::ifstream stream(path, std::ios::binary);
    return std::string((std::istreambuf_iterator<char>(stream)), {});
  };
  const std::string log = read(folder_ + "/gateway.db-wal");
  ASSERT_GT(log.size(), 0u);
  std::string damaged = read(folder_ + "/gateway.db");
  ASSERT_GT(damaged.size(), 8192u);
  damaged.replace(damaged.size() - 4096, 4096, std::string(4096, '\xA5'));
  std::ofstream(copy + "/gateway.db", std::ios::binary) << damaged;
  std::ofstream(copy + "/gateway.db-wal", std::ios::binary) << log;

  EXPECT_EQ(OpenGatewayDatabase(copy).status().code(), absl::StatusCode::kDataLoss);
  EXPECT_TRUE(read(copy + "/gateway.db") == damaged);
  EXPECT_TRUE(read(copy + "/gateway.db-wal") == log);
}

// What is acknowledged outlives a power cut.
TEST_F(KeysTest, WhatIsCommittedIsOnTheDisk) {
  Database db = *OpenGatewayDatabase(folder_);
  const auto value = [&db](const std::string& pragma) {
    Statement read = *db.Prepare("PRAGMA " + pragma);
    EXPECT_TRUE(*read.Step()) << pragma;
    return read.Text(0);
  };
  EXPECT_EQ(value("journal_mode"), "wal");
  EXPECT_EQ(value("synchronous"), "2") << "FULL";
  EXPECT_EQ(value("foreign_keys"), "1");
  EXPECT_NE(value("user_version"), "0");
}

TEST_F(KeysTest, ADatabaseOfTheFirstVersionIsTakenOver) {
  constexpr std::array<std::string_view, 1> kFirst = {{R"sql(
CREATE TABLE principals (id TEXT NOT NULL PRIMARY KEY, name TEXT NOT NULL UNIQUE,
  created_ms INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE access_keys (hash BLOB NOT NULL PRIMARY KEY,
  principal TEXT NOT NULL REFERENCES principals (id) ON DELETE CASCADE,
  created_ms INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE signing_keys (id INTEGER PRIMARY KEY, key BLOB NOT NULL,
  created_ms INTEGER NOT NULL) STRICT;
INSERT INTO principals VALUES ('key-1', 'ann', 5);
INSERT INTO access_keys VALUES (x'02', 'key-1', 7), (x'01', 'key-1', 7), (x'03', 'key-1', 6);
)sql"}};
  ASSERT_TRUE(Database::Open(folder_ + "/gateway.db", Database::Durability::kFull, kFirst).ok());
  const auto rows = Table().List();
  ASSERT_TRUE(rows.ok()) << rows.status();
  ASSERT_EQ(rows->size(), 1u);
  std::vector<std::string> devices;
  for (const KeyTable::Key& key : rows->front().keys) devices.push_back(key.device);
  EXPECT_THAT(devices, testing::ElementsAre("key1", "key2", "key3"));
  EXPECT_FALSE(rows->front().keys.front().expires_ms.has_value());
}

}  // namespace
}  // namespace sandkeep
