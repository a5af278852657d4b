// Two programs open one database; neither may lose a row, and an old program must not touch a newer
// file.

#include "common/sqlite.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <string>

namespace sandkeep {
namespace {

constexpr std::string_view kSchema[] = {"CREATE TABLE t (k TEXT PRIMARY KEY, v BLOB) STRICT",
                                        "ALTER TABLE t ADD COLUMN n INTEGER"};

class SqliteTest : public testing::Test {
 protected:
  void SetUp() override {
    path_ = testing::TempDir() + "sqlite_test.db";
    TearDown();
  }
  void TearDown() override {
    for (const char* tail : {"", "-wal", "-shm"}) std::remove((path_ + tail).c_str());
  }
  std::string path_;
};

TEST_F(SqliteTest, KeepsBytesAsTheyAre) {
  Database db = Database::Open(path_, Database::Durability::kFull, kSchema).value();
  const std::string bytes("a\0b'\xff", 5);
  Statement insert = db.Prepare("INSERT INTO t VALUES (?1, ?2, ?3)").value();
  ASSERT_TRUE(insert.BindText(1, "k'; DROP TABLE t; --").BindBlob(2, bytes).BindNull(3).Run().ok());
  ASSERT_TRUE(insert.BindText(1, "empty").BindBlob(2, "").Bind(3, 7).Run().ok());

  Statement read = db.Prepare("SELECT v, n FROM t ORDER BY k DESC").value();
  ASSERT_TRUE(read.Step().value());
  EXPECT_EQ(read.Text(0), bytes);
  EXPECT_TRUE(read.IsNull(1));
  ASSERT_TRUE(read.Step().value());
  EXPECT_FALSE(read.IsNull(0));
  EXPECT_EQ(read.Int(1), 7);
  EXPECT_FALSE(read.Step().value());
}

TEST_F(SqliteTest, ACommitThatFailsLeavesNoTransactionOpen) {
  constexpr std::string_view kLinked[] = {
      "CREATE TABLE whole (k INTEGER PRIMARY KEY);"
      "CREATE TABLE part (k INTEGER REFERENCES whole DEFERRABLE INITIALLY DEFERRED)"};
  Database db = Database::Open(path_, Database::Durability::kNormal, kLinked).value();
  const auto insert = [&](std::string_view sql) {
    return db.Transact([&] { return db.Prepare(sql).value().Run(); });
  };
  // Only its commit finds out.
  EXPECT_FALSE(insert("INSERT INTO part VALUES (1)").ok());
  EXPECT_TRUE(insert("INSERT INTO whole VALUES (2)").ok());
}

TEST_F(SqliteTest, ADuplicateIsSaidAndTheStatementStaysUsable) {
  Database db = Database::Open(path_, Database::Durability::kNormal, kSchema).value();
  Statement insert = db.Prepare("INSERT INTO t (k) VALUES (?1)").value();
  ASSERT_TRUE(insert.BindText(1, "a").Run().ok());
  EXPECT_EQ(insert.BindText(1, "a").Run().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_TRUE(insert.BindText(1, "b").Run().ok());
}

TEST_F(SqliteTest, AFailedTransactionLeavesNothing) {
  Database db = Database::Open(path_, Database::Durability::kNormal, kSchema).value();
  const absl::Status failed = db.Transact([&] {
    EXPECT_TRUE(db.Execute("INSERT INTO t (k) VALUES ('a')").ok());
    return absl::InternalError("no");
  });
  EXPECT_EQ(failed.code(), absl::StatusCode::kInternal);
  Statement count = db.Prepare("SELECT COUNT(*) FROM t").value();
  ASSERT_TRUE(count.Step().value());
  EXPECT_EQ(count.Int(0), 0);
}

TEST_F(SqliteTest, AnotherConnectionsWriteIsNoticed) {
  Database reader = Database::Open(path_, Database::Durability::kFull, kSchema).value();
  Database writer = Database::Open(path_, Database::Durability::kFull, kSchema).value();
  const std::int64_t before = reader.DataVersion().value();
  ASSERT_TRUE(writer.Execute("INSERT INTO t (k) VALUES ('a')").ok());
  EXPECT_NE(reader.DataVersion().value(), before);
}

TEST_F(SqliteTest, MigratesAnOldFileAndRefusesANewerOne) {
  ASSERT_TRUE(
      Database::Open(path_, Database::Durability::kFull, absl::MakeConstSpan(kSchema, 1)).ok());
  ASSERT_TRUE(Database::Open(path_, Database::Durability::kFull, kSchema).ok());
  EXPECT_EQ(Database::Open(path_, Database::Durability::kFull, absl::MakeConstSpan(kSchema, 1))
                .status()
                .code(),
            absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace sandkeep
