// Downloads stand on it: what is asked for comes back whole and as itself, and the process comes
// back when it is killed.

#include "agent/file_process/file_process.h"

#include <gmock/gmock.h>
#include <signal.h>

#include <algorithm>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>

#include "common/limits.h"
#include "tests/unit/agent/file_process/test_volume.h"

namespace sandkeep {
namespace {

using testing::HasSubstr;

TEST_F(FileProcessTest, OpensARegularFileToReadOnly) {
  const auto opened = Open("plain.txt");

  ASSERT_TRUE(opened.ok()) << opened.status();
  EXPECT_EQ(ReadAll(opened->file), "hello");
  EXPECT_EQ(::fcntl(opened->file.get(), F_GETFL) & O_ACCMODE, O_RDONLY);
  EXPECT_TRUE((::fcntl(opened->file.get(), F_GETFD) & FD_CLOEXEC) != 0);
  EXPECT_EQ(opened->entry.path, "plain.txt");
  EXPECT_EQ(opened->entry.size, 5);
  EXPECT_TRUE(opened->entry.regular());
}

TEST_F(FileProcessTest, OpensWhatEveryUserOfTheSandboxOwnsWhateverTheMode) {
  EXPECT_EQ(Contents("locked.bin"), "locked");
  EXPECT_EQ(Contents("folder/inner.txt"), "inner");
}

TEST_F(FileProcessTest, OpensNamesThatAreNotText) {
  EXPECT_EQ(Contents("new\nline"), "1");
  EXPECT_EQ(Contents("bytes\xff\xfe"), "2");
}

TEST_F(FileProcessTest, WhatIsNotThereIsNotFound) {
  EXPECT_TRUE(absl::IsNotFound(Open("nothing").status()));
  EXPECT_TRUE(absl::IsNotFound(Open("nothing/deeper").status()));
  EXPECT_TRUE(absl::IsNotFound(Open("plain.txt/deeper").status()));
  EXPECT_TRUE(absl::IsNotFound(Stat("nothing").status()));
}

TEST_F(FileProcessTest, StatsFilesFoldersAndTheWorkspaceItself) {
  EXPECT_EQ(Stat("plain.txt")->size, 5);
  EXPECT_TRUE(Stat("folder")->directory());
  EXPECT_TRUE(Stat("")->directory());
  EXPECT_EQ(Stat("sparse")->size, std::int64_t{1} << 40);
}

TEST_F(FileProcessTest, ListsAFolderByName) {
  const auto entries = runner_.Await(process_->List(volume_, Path("folder"), 100));
  ASSERT_TRUE(entries.ok()) << entries.status();
  ASSERT_EQ(entries->size(), 1u);
  EXPECT_EQ(entries->front().path, "folder/inner.txt");
  EXPECT_EQ(entries->front().size, 5);
}

TEST_F(FileProcessTest, AListLongerThanAFrameComesWhole) {
  const auto entries = runner_.Await(process_->List(volume_, Path("many"), 10000));
  ASSERT_TRUE(entries.ok()) << entries.status();
  ASSERT_EQ(entries->size(), 600u);
  EXPECT_TRUE(std::is_sorted(entries->begin(), entries->end(),
                             [](const auto& a, const auto& b) { return a.path < b.path; }));
}

TEST_F(FileProcessTest, AListKeepsToItsLimit) {
  EXPECT_EQ(runner_.Await(process_->List(volume_, Path("many"), 7))->size(), 7u);
  EXPECT_EQ(runner_.Await(process_->List(volume_, Path("many"), 0))->size(), 0u);
}

TEST_F(FileProcessTest, TheTagIsTheSameForTheSameFileOnly) {
  EXPECT_EQ(Stat("plain.txt")->Etag(), Open("plain.txt")->entry.Etag());
  EXPECT_EQ(Stat("plain.txt")->Etag().size(), 22u);
  EXPECT_NE(Stat("plain.txt")->Etag(), Stat("sparse")->Etag());
}

TEST_F(FileProcessTest, ManyCallsAtOnceGetTheirOwnAnswers) {
  std::vector<std::future<absl::StatusOr<OpenedFile>>> plain, locked;
  for (int i = 0; i < 300; ++i) {
    plain.push_back(runner_.Begin(process_->Open(volume_, Path("plain.txt"))));
    locked.push_back(runner_.Begin(process_->Open(volume_, Path("locked.bin"))));
  }
  for (auto& call : plain) EXPECT_EQ(ReadAll(call.get()->file), "hello");
  for (auto& call : locked) EXPECT_EQ(ReadAll(call.get()->file), "locked");
}

TEST_F(FileProcessTest, AMissingVolumeIsItsOpenersError) {
  FileProcessOptions options;
  options.program = (TestVolume().base / "sandkeep-files").string();
  auto process = MakeFileProcess(runner_.executor(), options, [](EngineName) {
    return OpenFolder(TestVolume().base / "no-volume");
  });
  EXPECT_TRUE(absl::IsNotFound(runner_.Await(process->Open(volume_, Path("x"))).status()));
}

TEST_F(FileProcessTest, AMissingProgramSaysWhatToDo) {
  FileProcessOptions options;
  options.program = "/nowhere/sandkeep-files";
  auto process = MakeFileProcess(runner_.executor(), options, [](EngineName) {
    return OpenFolder(TestVolume().base / "volume");
  });
  const auto opened = runner_.Await(process->Open(volume_, Path("plain.txt")));
  EXPECT_TRUE(absl::IsFailedPrecondition(opened.status())) << opened.status();
  EXPECT_THAT(opened.status().ToString(), HasSubstr("FILES_PATH"));
}

TEST_F(FileProcessTest, IsStartedAgainWhenItIsKilled) {
  ASSERT_EQ(Contents("plain.txt"), "hello");
  for (int i = 0; i < 5; ++i) {
    const pid_t pid = FilesPid();
    ASSERT_GT(pid, 0);
    ASSERT_EQ(::kill(pid, SIGKILL), 0);
    // Whether or not its death was noticed in time for this call.
    const auto during = Open("plain.txt");
    EXPECT_TRUE(during.ok() || absl::IsUnavailable(during.status())) << during.status();
    EXPECT_EQ(Contents("plain.txt"), "hello");
    EXPECT_NE(FilesPid(), pid);
  }
}

TEST_F(FileProcessTest, KilledUnderLoadEveryCallEndsAndTheNextWorks) {
  ASSERT_EQ(Contents("plain.txt"), "hello");
  std::vector<std::future<absl::StatusOr<OpenedFile>>> calls;
  for (int i = 0; i < 200; ++i) {
    calls.push_back(runner_.Begin(process_->Open(volume_, Path("plain.txt"))));
    if (i == 100) ::kill(FilesPid(), SIGKILL);
  }
  for (auto& call : calls) {
    const auto opened = call.get();
    EXPECT_TRUE(opened.ok() || absl::IsUnavailable(opened.status())) << opened.status();
  }
  EXPECT_EQ(Contents("plain.txt"), "hello");
}

// Begins a call and leaves it at once; the future comes when it has ended.
std::future<void> BeginAndLeave(const boost::asio::any_io_executor& executor,
                                Async<OpenedFile> call) {
  struct Leaving {
    std::promise<void> ended;
    boost::asio::cancellation_signal signal;
  };
  auto leaving = std::make_shared<Leaving>();
  const auto strand = boost::asio::make_strand(executor);
  auto ended = [leaving](std::exception_ptr, absl::StatusOr<OpenedFile>) {
    leaving->ended.set_value();
  };
  boost::asio::co_spawn(
      strand, std::move(call),
      boost::asio::bind_cancellation_slot(leaving->signal.slot(), std::move(ended)));
  boost::asio::post(strand,
                    [leaving] { leaving->signal.emit(boost::asio::cancellation_type::terminal); });
  return leaving->ended.get_future();
}

TEST_F(FileProcessTest, ACallerWhoLeavesEndsNothingForTheOthers) {
  std::vector<std::future<void>> left;
  std::vector<std::future<absl::StatusOr<OpenedFile>>> stayed;
  // The first ones leave while it is being started, the next while the volume is opened.
  for (int round = 0; round < 50; ++round) {
    for (int i = 0; i < 4; ++i) {
      left.push_back(BeginAndLeave(runner_.executor(), process_->Open(volume_, Path("plain.txt"))));
      stayed.push_back(runner_.Begin(process_->Open(volume_, Path("plain.txt"))));
    }
    for (auto& call : left) call.wait();
    left.clear();
  }
  for (auto& call : stayed) {
    const auto opened = call.get();
    ASSERT_TRUE(opened.ok()) << opened.status();
    EXPECT_EQ(ReadAll(opened->file), "hello");
  }
  EXPECT_EQ(opened_volumes_, 1) << "it was never started again";
}

TEST_F(FileProcessTest, AsksForAVolumeOnceAndAgainAfterItIsDropped) {
  ASSERT_EQ(Contents("plain.txt"), "hello");
  ASSERT_EQ(Contents("locked.bin"), "locked");
  EXPECT_EQ(opened_volumes_, 1);
  process_->Drop(volume_);
  ASSERT_EQ(Contents("plain.txt"), "hello");
  EXPECT_EQ(opened_volumes_, 2);
}

TEST_F(FileProcessTest, ServesMoreVolumesThanItHoldsAtOnce) {
  for (std::size_t i = 0; i < kMaxFileProcessVolumes + 20; ++i) {
    const EngineName volume = EngineName::Make(SystemRandom());
    ASSERT_TRUE(runner_.Await(process_->Stat(volume, Path("plain.txt"))).ok());
  }
  EXPECT_EQ(Contents("plain.txt"), "hello");
}

}  // namespace
}  // namespace sandkeep
