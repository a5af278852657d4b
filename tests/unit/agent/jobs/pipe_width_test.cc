// A pipe is wide while its writer is fast, and only so many are.
#include "agent/jobs/pipe_width.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "common/limits.h"
#include "tests/fakes/patience.h"

namespace sandkeep {
namespace {

constexpr int kUsual = 64 << 10;
constexpr std::int64_t kFast = kFastWriterBytes;

class PipeWidthTest : public testing::Test {
 protected:
  struct Piped {
    Piped() {
      std::array<int, 2> ends{};
      EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK), 0);
      reader.Reset(ends[0]);
      writer.Reset(ends[1]);
    }
    int size() const { return ::fcntl(reader.get(), F_GETPIPE_SZ); }
    void MakeWide() {
      ASSERT_EQ(::fcntl(reader.get(), F_SETPIPE_SZ, kWidePipeBytes), kWidePipeBytes);
    }
    void Took(std::int64_t bytes) { width.Took(reader, bytes); }
    // Turns of so many bytes, a millisecond apart.
    void TookUntil(bool wide, std::int64_t bytes) {
      const auto deadline = std::chrono::steady_clock::now() + kTestPatience;
      while (width.wide() != wide) {
        ASSERT_LT(std::chrono::steady_clock::now(), deadline);
        Took(bytes);
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    }

    UniqueFd reader;
    UniqueFd writer;
    PipeWidth width;
  };

  Piped pipe_;
};

TEST_F(PipeWidthTest, IsWideWhileItsWriterIsFast) {
  pipe_.Took(kUsual);
  EXPECT_FALSE(pipe_.width.wide());
  EXPECT_EQ(pipe_.size(), kUsual);
  pipe_.TookUntil(true, kFast);
  EXPECT_EQ(pipe_.size(), kWidePipeBytes);
  pipe_.TookUntil(false, 1);
  EXPECT_EQ(pipe_.size(), kUsual);
}

TEST_F(PipeWidthTest, IsNoLongerWideWhenItsWriterFallsSilent) {
  pipe_.TookUntil(true, kFast);
  pipe_.Took(0);
  EXPECT_FALSE(pipe_.width.wide());
  EXPECT_EQ(pipe_.size(), kUsual);
}

TEST_F(PipeWidthTest, LosesNothingOfWhatDoesNotFitAnyMore) {
  pipe_.TookUntil(true, kFast);
  const std::string held(std::size_t{2} * kUsual, 'x');
  ASSERT_EQ(::write(pipe_.writer.get(), held.data(), held.size()),
            static_cast<ssize_t>(held.size()));
  pipe_.Took(0);
  EXPECT_TRUE(pipe_.width.wide());
  std::string read(held.size(), '\0');
  EXPECT_EQ(::read(pipe_.reader.get(), read.data(), read.size()),
            static_cast<ssize_t>(held.size()));
  EXPECT_EQ(read, held);
  pipe_.Took(0);
  EXPECT_EQ(pipe_.size(), kUsual);
}

TEST_F(PipeWidthTest, BeginsWithWhatAnotherAgentMadeWide) {
  pipe_.MakeWide();
  pipe_.width.Begin(pipe_.reader);
  EXPECT_FALSE(pipe_.width.wide());
  EXPECT_EQ(pipe_.size(), kUsual);
}

TEST_F(PipeWidthTest, CountsWhatAnotherAgentMadeWideAndHoldsTooMuch) {
  pipe_.MakeWide();
  const std::string held(std::size_t{2} * kUsual, 'x');
  ASSERT_EQ(::write(pipe_.writer.get(), held.data(), held.size()),
            static_cast<ssize_t>(held.size()));
  pipe_.width.Begin(pipe_.reader);
  EXPECT_TRUE(pipe_.width.wide());
  std::vector<std::unique_ptr<Piped>> others;
  for (int i = 1; i < kMaxWidePipes; ++i) {
    others.push_back(std::make_unique<Piped>());
    others.back()->TookUntil(true, kFast);
  }
  Piped next;
  next.Took(kFast);
  EXPECT_FALSE(next.width.wide());
  std::string read(held.size(), '\0');
  EXPECT_EQ(::read(pipe_.reader.get(), read.data(), read.size()),
            static_cast<ssize_t>(held.size()));
  pipe_.Took(0);
  EXPECT_EQ(pipe_.size(), kUsual);
  next.TookUntil(true, kFast);
}

TEST_F(PipeWidthTest, LeavesANarrowPipeAsItIs) {
  ASSERT_GT(::fcntl(pipe_.reader.get(), F_SETPIPE_SZ, 8 << 10), 0);
  pipe_.width.Begin(pipe_.reader);
  EXPECT_FALSE(pipe_.width.wide());
  EXPECT_EQ(pipe_.size(), 8 << 10);
}

TEST_F(PipeWidthTest, OnlySoManyAreWideAtOnce) {
  std::vector<std::unique_ptr<Piped>> others;
  for (int i = 0; i < kMaxWidePipes; ++i) {
    others.push_back(std::make_unique<Piped>());
    others.back()->TookUntil(true, kFast);
  }
  pipe_.Took(kFast);
  EXPECT_FALSE(pipe_.width.wide());
  EXPECT_EQ(pipe_.size(), kUsual);
  others.front()->width.Forget();
  pipe_.TookUntil(true, kFast);
  others.pop_back();
  Piped next;
  next.TookUntil(true, kFast);
}

}  // namespace
}  // namespace sandkeep
