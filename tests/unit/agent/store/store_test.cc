// The store's unforgivable fault is to say "written" and forget.

#include "agent/store/store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "agent/store/schema.h"
#include "common/sqlite.h"
#include "common/strings.h"

namespace sandkeep {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::Field;
using testing::IsEmpty;
using testing::SizeIs;

JobId IdOf(char c) { return *JobId::FromBytes(std::string(16, c)); }
SandboxKey KeyOf(std::string_view slug) { return SandboxKey::Make(slug, "0123456789"); }
EngineName NameOf(char c) { return *EngineName::Parse(StrCat("sandkeep-", std::string(20, c))); }

SandboxRow RowOf(std::string_view label) {
  return SandboxRow{
      .key = KeyOf(label),
      .principal = *PrincipalId::Parse("key-alice"),
      .label = *Label::Parse(label),
      .generation = *Generation::FromBytes(std::string(16, 'g')),
      .volume = NameOf('v'),
      .container = NameOf('c'),
      .created = absl::FromUnixMicros(1234567),
      .last_used = absl::InfinitePast(),
  };
}

JobRow JobOf(char id, std::string_view label) {
  return JobRow{.id = IdOf(id),
                .sandbox = KeyOf(label),
                .command_head = "true",
                .started = absl::FromUnixSeconds(id),
                .ended = absl::InfinitePast(),
                .outcome = std::nullopt};
}

class StoreTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "store-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    dir_ = pattern;
    Reopen();
  }
  void TearDown() override {
    store_.reset();
    std::filesystem::remove_all(dir_);
  }

  // As a new process would: the old connections are gone.
  void Reopen() {
    store_.reset();
    auto opened = OpenStore(dir_);
    ASSERT_TRUE(opened.ok()) << opened.status();
    store_ = *std::move(opened);
  }

  template <typename T>
  T Wait(boost::asio::awaitable<T> call) {
    auto result = boost::asio::co_spawn(io_, std::move(call), boost::asio::use_future);
    io_.restart();
    io_.run();
    return result.get();
  }

  std::string dir_;
  boost::asio::io_context io_;
  std::unique_ptr<Store> store_;
};

TEST_F(StoreTest, ANewStoreIsEmpty) {
  EXPECT_THAT(*Wait(store_->LoadSandboxes()), IsEmpty());
  EXPECT_THAT(*Wait(store_->LoadJobs()), IsEmpty());
}

TEST_F(StoreTest, ASandboxComesBackWholeAfterARestart) {
  ASSERT_TRUE(Wait(store_->PutSandbox(RowOf("amber-otter"))).ok());

  Reopen();

  const auto rows = Wait(store_->LoadSandboxes());
  ASSERT_TRUE(rows.ok()) << rows.status();
  ASSERT_THAT(*rows, SizeIs(1));
  const SandboxRow& row = rows->front();
  const SandboxRow want = RowOf("amber-otter");
  EXPECT_EQ(row.key, want.key);
  EXPECT_EQ(row.principal, want.principal);
  EXPECT_EQ(row.label, want.label);
  EXPECT_EQ(row.generation, want.generation);
  EXPECT_EQ(row.volume, want.volume);
  EXPECT_EQ(row.container, want.container);
  EXPECT_EQ(row.created, want.created);
  EXPECT_EQ(row.last_used, want.last_used);
}

TEST_F(StoreTest, TheContainerAndTheLastUseAreSetAlone) {
  ASSERT_TRUE(Wait(store_->PutSandbox(RowOf("amber-otter"))).ok());
  const absl::Time used = absl::FromUnixSeconds(99);

  ASSERT_TRUE(Wait(store_->SetContainer(KeyOf("amber-otter"), std::nullopt)).ok());
  ASSERT_TRUE(Wait(store_->TouchSandbox(KeyOf("amber-otter"), used)).ok());
  Reopen();

  EXPECT_THAT(*Wait(store_->LoadSandboxes()),
              ElementsAre(AllOf(Field(&SandboxRow::container, std::optional<EngineName>()),
                                Field(&SandboxRow::last_used, used),
                                Field(&SandboxRow::volume, NameOf('v')))));
}

TEST_F(StoreTest, HowPackagesComeBackIsKeptWithTheSandbox) {
  ASSERT_TRUE(Wait(store_->PutSandbox(RowOf("amber-otter"))).ok());
  EXPECT_TRUE(Wait(store_->SetReinstall(RowOf("amber-otter").key, "pip install x")).ok());
  Reopen();
  EXPECT_EQ(Wait(store_->LoadSandboxes())->front().reinstall, "pip install x");
}

TEST_F(StoreTest, SettingTheContainerOfAnUnknownSandboxIsNotSilent) {
  EXPECT_EQ(Wait(store_->SetContainer(KeyOf("nobody"), NameOf('c'))).code(),
            absl::StatusCode::kNotFound);
  EXPECT_EQ(Wait(store_->TouchSandbox(KeyOf("nobody"), absl::Now())).code(),
            absl::StatusCode::kNotFound);
}

TEST_F(StoreTest, AJobComesBackWholeAfterARestart) {
  JobRow job = JobOf('a', "amber-otter");
  job.state = JobState::kEnded;
  job.command_head = std::string("p '\xff\0x'", 7);
  job.ended = absl::FromUnixMicros(77);
  job.merge_streams = false;
  job.stdin_open = true;
  job.stdout_inode = ~0ULL;
  job.stderr_inode = 2;
  job.stdin_inode = 3;
  job.spool_bytes = 64 << 20;
  job.grace = absl::Milliseconds(150);
  job.outcome = Outcome{.ending = Ending::kTimedOut,
                        .code = 15,
                        .waiting_for_input = true,
                        .left_behind = 4,
                        .wall = std::chrono::milliseconds(5),
                        .output_bytes = 6,
                        .dropped_bytes = 7,
                        .remedy = "say more"};
  ASSERT_TRUE(Wait(store_->PutJob(job)).ok());

  Reopen();

  const auto jobs = Wait(store_->LoadJobs());
  ASSERT_TRUE(jobs.ok()) << jobs.status();
  ASSERT_THAT(*jobs, SizeIs(1));
  const JobRow& got = jobs->front();
  EXPECT_EQ(got.id, job.id);
  EXPECT_EQ(got.sandbox, job.sandbox);
  EXPECT_EQ(got.state, JobState::kEnded);
  EXPECT_EQ(got.command_head, job.command_head);
  EXPECT_EQ(got.started, job.started);
  EXPECT_EQ(got.ended, job.ended);
  EXPECT_FALSE(got.merge_streams);
  EXPECT_TRUE(got.stdin_open);
  EXPECT_EQ(got.stdout_inode, ~0ULL);
  EXPECT_EQ(got.stderr_inode, 2u);
  EXPECT_EQ(got.stdin_inode, 3u);
  EXPECT_EQ(got.spool_bytes, 64 << 20);
  EXPECT_EQ(got.deadline, absl::InfiniteFuture());
  EXPECT_EQ(got.grace, absl::Milliseconds(150));
  ASSERT_TRUE(got.outcome.has_value());
  EXPECT_EQ(got.outcome->ending, Ending::kTimedOut);
  EXPECT_EQ(got.outcome->code, 15);
  EXPECT_TRUE(got.outcome->waiting_for_input);
  EXPECT_EQ(got.outcome->left_behind, 4);
  EXPECT_EQ(got.outcome->wall.count(), 5);
  EXPECT_EQ(got.outcome->output_bytes, 6);
  EXPECT_EQ(got.outcome->dropped_bytes, 7);
  EXPECT_EQ(got.outcome->remedy, "say more");
}

TEST_F(StoreTest, ARunningJobHasNoOutcomeAndPuttingItAgainReplacesIt) {
  JobRow job = JobOf('a', "amber-otter");
  ASSERT_TRUE(Wait(store_->PutJob(job)).ok());
  job.state = JobState::kRunning;
  ASSERT_TRUE(Wait(store_->PutJob(job)).ok());

  const auto jobs = Wait(store_->LoadJobs());

  ASSERT_THAT(*jobs, SizeIs(1));
  EXPECT_EQ(jobs->front().state, JobState::kRunning);
  EXPECT_FALSE(jobs->front().outcome.has_value());
}

TEST_F(StoreTest, JobsThatArePutTogetherAreAllThere) {
  JobRow ended = JobOf('a', "x");
  ASSERT_TRUE(Wait(store_->PutJob(ended)).ok());
  ended.state = JobState::kEnded;
  ASSERT_TRUE(Wait(store_->PutJobs({ended, JobOf('b', "x"), JobOf('c', "y")})).ok());
  // There is no transaction left open.
  ASSERT_TRUE(Wait(store_->PutJobs({JobOf('d', "y")})).ok());

  Reopen();

  const auto jobs = Wait(store_->LoadJobs());
  ASSERT_THAT(*jobs, SizeIs(4));
  EXPECT_EQ(jobs->front().state, JobState::kEnded);
}

TEST_F(StoreTest, JobsAreLoadedOldestFirst) {
  for (char id : {'c', 'a', 'b'}) ASSERT_TRUE(Wait(store_->PutJob(JobOf(id, "x"))).ok());

  EXPECT_THAT(*Wait(store_->LoadJobs()),
              ElementsAre(Field(&JobRow::id, IdOf('a')), Field(&JobRow::id, IdOf('b')),
                          Field(&JobRow::id, IdOf('c'))));
}

TEST_F(StoreTest, ADeletedSandboxTakesItsJobsAlongAndNoOthers) {
  ASSERT_TRUE(Wait(store_->PutSandbox(RowOf("gone"))).ok());
  ASSERT_TRUE(Wait(store_->PutJob(JobOf('a', "gone"))).ok());
  ASSERT_TRUE(Wait(store_->PutJob(JobOf('b', "stays"))).ok());

  ASSERT_TRUE(Wait(store_->DeleteSandbox(KeyOf("gone"))).ok());

  EXPECT_THAT(*Wait(store_->LoadSandboxes()), IsEmpty());
  EXPECT_THAT(*Wait(store_->LoadJobs()), ElementsAre(Field(&JobRow::id, IdOf('b'))));
}

TEST_F(StoreTest, DeletedJobsAreGone) {
  for (char id : {'a', 'b', 'c'}) ASSERT_TRUE(Wait(store_->PutJob(JobOf(id, "x"))).ok());

  const SandboxKey x = KeyOf("x");
  ASSERT_TRUE(Wait(store_->DeleteJobs({{x, IdOf('a')}, {x, IdOf('c')}, {x, IdOf('z')}})).ok());

  EXPECT_THAT(*Wait(store_->LoadJobs()), ElementsAre(Field(&JobRow::id, IdOf('b'))));
}

TEST_F(StoreTest, AnIdThatAnotherSandboxHasTooIsAnotherJob) {
  ASSERT_TRUE(Wait(store_->PutJob(JobOf('a', "mine"))).ok());
  ASSERT_TRUE(Wait(store_->PutJob(JobOf('a', "theirs"))).ok());
  ASSERT_EQ(Wait(store_->LoadJobs())->size(), 2u);

  ASSERT_TRUE(Wait(store_->DeleteJobs({{KeyOf("theirs"), IdOf('a')}})).ok());

  EXPECT_THAT(*Wait(store_->LoadJobs()), ElementsAre(Field(&JobRow::sandbox, KeyOf("mine"))));
}

TEST_F(StoreTest, JobsOfAnOlderVersionAreTakenOver) {
  store_.reset();
  for (const char* suffix : {"", "-wal", "-shm"}) {
    std::filesystem::remove(StrCat(dir_, "/agent.db", suffix));
  }
  {
    auto old = Database::Open(dir_ + "/agent.db", Database::Durability::kFull,
                              absl::MakeConstSpan(kStoreMigrations).first(2));
    ASSERT_TRUE(old.ok()) << old.status();
    const auto made = old->Execute(StrCat(
        "INSERT INTO jobs (id, sandbox, state, command_head, started, ended, merge_streams, "
        "stdin_open, stdout_inode, stderr_inode, stdin_inode, spool_bytes, deadline, grace_us, "
        "ending, code, waiting_for_input, left_behind, wall_ms, output_bytes, dropped_bytes, "
        "remedy) VALUES (CAST('aaaaaaaaaaaaaaaa' AS BLOB), '",
        KeyOf("x").text(),
        "', 2, CAST('true' AS BLOB), 5, 7, 1, 0, 1, 2, 3, 100, 9, 11, 1, 3, 0, 0, 1, 2, 0, "
        "CAST('' AS BLOB))"));
    ASSERT_TRUE(made.ok()) << made;
  }

  Reopen();

  const auto jobs = Wait(store_->LoadJobs());
  ASSERT_TRUE(jobs.ok()) << jobs.status();
  ASSERT_EQ(jobs->size(), 1u);
  EXPECT_EQ(jobs->front().id, IdOf('a'));
  EXPECT_EQ(jobs->front().sandbox, KeyOf("x"));
  EXPECT_EQ(jobs->front().spool_bytes, 100);
  EXPECT_EQ(jobs->front().outcome->code, 3);
}

// Also where the damage is in a page that the start itself wouldn't read: a row that is missed
// later costs a running command its outcome.
TEST_F(StoreTest, ADamagedFileIsNamedWithTheWayOutAndLeftAsItIs) {
  for (char id = 'a'; id < 'z'; ++id) {
    ASSERT_TRUE(Wait(store_->PutJob(JobOf(id, "x"))).ok());
  }
  store_.reset();
  const std::string path = dir_ + "/agent.db";
  const auto read = [&path] {
    std::ifstream stream(path, std::ios::binary);
    return std::string((std::istreambuf_iterator<char>(stream)), {});
  };
  const std::string whole = read();
  ASSERT_GT(whole.size(), 8192u);
  std::string inside = whole;
  inside.replace(whole.size() - 4096, 4096, std::string(4096, '\xA5'));
  for (const std::string& damaged : {std::string(8192, 'x'), inside, whole.substr(0, 6000)}) {
    std::ofstream(path, std::ios::binary) << damaged;

    const absl::Status opened = OpenStore(dir_).status();

    EXPECT_EQ(opened.code(), absl::StatusCode::kDataLoss);
    EXPECT_THAT(std::string(ToStd(opened.message())),
                AllOf(testing::HasSubstr(path), testing::HasSubstr("move it away")));
    EXPECT_EQ(read(), damaged);
  }
  std::ofstream(path, std::ios::binary) << whole;
  EXPECT_TRUE(OpenStore(dir_).ok());
}

}  // namespace
}  // namespace sandkeep
