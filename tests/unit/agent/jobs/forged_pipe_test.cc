// What init gives back as a job's pipe is that pipe, or nothing is taken.

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "tests/fakes/lying_init.h"
#include "tests/unit/agent/jobs/jobs_fixture.h"

namespace sandkeep {
namespace {

class ForgedPipeTest : public JobsTest {
 protected:
  void SetUp() override {
    JobsTest::SetUp();
    if (IsSkipped()) return;
    ASSERT_EQ(::pipe2(ends_, O_CLOEXEC), 0);
    reader_.Reset(ends_[0]);
    writer_.Reset(ends_[1]);
    struct stat file{};
    ASSERT_EQ(::fstat(reader_.get(), &file), 0);
    inode_ = file.st_ino;
  }

  // A row of a running job whose output is that pipe; init names `given` as it.
  absl::Status AttachWith(int given) {
    table_.reset();
    io_.poll();
    const JobRow row{.id = id_,
                     .sandbox = sandbox_,
                     .state = JobState::kRunning,
                     .command_head = "true",
                     .started = absl::Now(),
                     .ended = {},
                     .stdout_inode = inode_,
                     .spool_bytes = 64 << 20,
                     .outcome = std::nullopt};
    EXPECT_TRUE(Await(store_->PutJob(row)).ok());
    MakeTable();
    LyingInit init;
    std::optional<absl::Status> attached;
    auto done = [&](std::exception_ptr, absl::Status status) { attached = std::move(status); };
    boost::asio::co_spawn(strand_, table_->Attach(init.Container(), lost_), std::move(done));
    RunUntil([&]() { return init.Hear().has_value(); });
    init::v1::JobState state;
    state.set_job_id(id_.bytes());
    state.set_pid(7);
    state.set_stdout_fd(given);
    state.set_stderr_fd(-1);
    state.set_stdin_fd(-1);
    EXPECT_TRUE(init.Say(init.Reply({state})).ok());
    RunUntil([&]() { return attached.has_value(); });
    return *attached;
  }

  int ends_[2] = {-1, -1};
  UniqueFd reader_, writer_;
  std::uint64_t inode_ = 0;
  JobId id_ = JobId::Random(SystemRandom());
};

TEST_F(ForgedPipeTest, TheRecordedPipeIsTakenAndRead) {
  ASSERT_EQ(::write(writer_.get(), "kept", 4), 4);
  ASSERT_TRUE(AttachWith(reader_.get()).ok());
  AwaitOutput(id_, 4);
  EXPECT_EQ(Watch(id_, 0, false).out, "kept");
}

TEST_F(ForgedPipeTest, AFileIsRefused) {
  const UniqueFd file(::open("/etc/passwd", O_RDONLY | O_CLOEXEC));
  EXPECT_TRUE(absl::IsDataLoss(AttachWith(file.get())));
  EXPECT_FALSE(std::filesystem::exists(SpoolDir() + "/" + id_.hex() + ".out"));
}

TEST_F(ForgedPipeTest, ASocketIsRefused) {
  const UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_TRUE(absl::IsDataLoss(AttachWith(socket.get())));
}

TEST_F(ForgedPipeTest, AnotherPipeIsRefused) {
  int other[2];
  ASSERT_EQ(::pipe2(other, O_CLOEXEC), 0);
  const UniqueFd read(other[0]), write(other[1]);
  EXPECT_TRUE(absl::IsDataLoss(AttachWith(read.get())));
}

TEST_F(ForgedPipeTest, TheWrongEndIsRefused) {
  EXPECT_TRUE(absl::IsDataLoss(AttachWith(writer_.get())));
}

TEST_F(ForgedPipeTest, AFifoInAFileSystemIsRefused) {
  const std::string path = folder_ / "fifo";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  const UniqueFd fifo(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  EXPECT_TRUE(absl::IsDataLoss(AttachWith(fifo.get())));
}

}  // namespace
}  // namespace sandkeep
