// A wide pipe's turns are the disk's threads', whatever they come after: here the disk is a queue
// that stands until the test goes on with it.
#include "agent/jobs/pump.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <array>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <filesystem>
#include <functional>
#include <string>

#include "common/limits.h"
#include "tests/fakes/patience.h"

namespace sandkeep {
namespace {

// More than a pipe of the usual width holds, so that it can't be set back.
constexpr std::int64_t kHeld = 128 << 10;

class PumpTest : public testing::Test, protected PumpSink {
 protected:
  void SetUp() override {
    std::string folder = std::filesystem::temp_directory_path() / "sandkeep-pump-XXXXXX";
    ASSERT_NE(::mkdtemp(folder.data()), nullptr);
    folder_ = folder;
    std::array<int, 2> ends{};
    ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK), 0);
    reader_.Reset(ends[0]);
    writer_.Reset(ends[1]);
    ASSERT_EQ(::fcntl(writer_.get(), F_SETPIPE_SZ, kWidePipeBytes), kWidePipeBytes);
    Print();
  }
  void TearDown() override {
    if (pump_) pump_->Stop();
    std::filesystem::remove_all(folder_);
  }

  void Print() {
    const std::string text(kHeld, 'x');
    ASSERT_EQ(::write(writer_.get(), text.data(), text.size()), kHeld);
    printed_ += kHeld;
  }
  void Start(const std::string& spool) {
    pump_ = std::make_shared<Pump>(strand_.get_executor(), disk_.get_executor(), std::move(reader_),
                                   Spool(folder_ / spool, SpoolWindow(1 << 30)), "job",
                                   static_cast<PumpSink&>(*this));
    ASSERT_TRUE(pump_->Resume().ok());
  }
  void RunUntil(const std::function<bool()>& holds) {
    const auto deadline = std::chrono::steady_clock::now() + kTestPatience;
    while (!holds()) {
      ASSERT_LT(std::chrono::steady_clock::now(), deadline);
      strand_.run_one_for(std::chrono::milliseconds(100));
      strand_.restart();
    }
  }
  // What waits for the disk, and what the strand hears of it.
  void DiskGoesOn() {
    const int before = pump_->disk_turns();
    disk_.poll();
    disk_.restart();
    RunUntil([&]() { return pump_->disk_turns() > before; });
  }
  // The strand took nothing itself.
  void ExpectAllIsTheDisks() {
    ASSERT_TRUE(pump_->at_disk());
    EXPECT_EQ(pump_->size(), 0);
    DiskGoesOn();
    EXPECT_EQ(pump_->size(), kHeld);
    EXPECT_EQ(told_, 1);
  }

  void OnOutput() override { ++told_; }
  void OnEndOfOutput() override {}

  boost::asio::io_context strand_;
  boost::asio::io_context disk_;
  std::filesystem::path folder_;
  UniqueFd reader_;
  UniqueFd writer_;
  std::shared_ptr<Pump> pump_;
  std::int64_t printed_ = 0;
  int told_ = 0;
};

TEST_F(PumpTest, LeavesTheTurnAtACommandsEndToTheDisk) {
  Start("out");
  pump_->DrainNow();
  ExpectAllIsTheDisks();
}

TEST_F(PumpTest, LeavesWhatStoodInAWidePipeToTheDisk) {
  Start("out");
  RunUntil([&]() { return pump_->at_disk() || pump_->size() > 0; });
  ExpectAllIsTheDisks();
}

TEST_F(PumpTest, LeavesTheNextTryOfAFullDiskToTheDisk) {
  Start("later/out");
  pump_->DrainNow();
  if (pump_->at_disk()) DiskGoesOn();
  EXPECT_TRUE(pump_->stuck());
  EXPECT_FALSE(pump_->at_disk());
  std::filesystem::create_directory(folder_ / "later");
  RunUntil([&]() { return pump_->at_disk() || pump_->size() > 0; });
  // Nobody knows yet that it takes something again.
  EXPECT_TRUE(pump_->stuck());
  ExpectAllIsTheDisks();
  EXPECT_FALSE(pump_->stuck());
}

// Its writer would wait for us before a pause is over.
TEST_F(PumpTest, LooksAgainAtOnceAtAWidePipeThatWasHalfFull) {
  while (printed_ < kWidePipeBytes / 2) Print();
  Start("out");
  pump_->DrainNow();
  DiskGoesOn();
  EXPECT_TRUE(pump_->at_disk());
}

TEST_F(PumpTest, GathersWhatComesIntoAWidePipeThatWasNot) {
  while (printed_ < kWidePipeBytes * 3 / 8) Print();
  Start("out");
  pump_->DrainNow();
  DiskGoesOn();
  EXPECT_FALSE(pump_->at_disk());
}

TEST_F(PumpTest, TakesFromAPipeThatIsNoLongerWideItself) {
  Start("out");
  pump_->DrainNow();
  // So little is a slow writer's: now it is as any other.
  DiskGoesOn();
  EXPECT_FALSE(pump_->at_disk());
  EXPECT_EQ(::fcntl(writer_.get(), F_GETPIPE_SZ), 64 << 10);
  ASSERT_EQ(::write(writer_.get(), "x", 1), 1);
  RunUntil([&]() { return pump_->size() > kHeld; });
  EXPECT_EQ(pump_->disk_turns(), 1);
}

}  // namespace
}  // namespace sandkeep
