// ReadOutput's answer is one piece, whatever was dropped around it.

#include "agent/service/output_range.h"

#include <gtest/gtest.h>

#include "tests/unit/agent/service/scripted_manager.h"

namespace sandkeep {
namespace {

TEST(OutputRangeTest, StopsAtItsLimitInTheMiddleOfAChunk) {
  OutputRange range(OutputStream::kMerged, 10, 5);
  range.Add(OutputEvent(10, "abc"));
  EXPECT_FALSE(range.whole());
  range.Add(OutputEvent(13, "defg"));
  EXPECT_TRUE(range.whole());
  EXPECT_EQ(range.offset(), 10);
  EXPECT_EQ(std::move(range).data(), "abcde");
}

TEST(OutputRangeTest, AGapBeforeTheDataMovesItsOffset) {
  OutputRange range(OutputStream::kMerged, 10, 100);
  range.Add(GapEvent(10, 50));
  EXPECT_FALSE(range.whole());
  range.Add(OutputEvent(50, "tail"));
  range.Add(EndEvent());
  EXPECT_TRUE(range.whole());
  EXPECT_EQ(range.offset(), 50);
  EXPECT_EQ(range.gaps().size(), 1u);
  EXPECT_EQ(std::move(range).data(), "tail");
}

TEST(OutputRangeTest, AGapAfterTheDataEndsIt) {
  OutputRange range(OutputStream::kMerged, 0, 100);
  range.Add(OutputEvent(0, "head"));
  range.Add(GapEvent(4, 90));
  EXPECT_TRUE(range.whole());
  EXPECT_EQ(std::move(range).data(), "head");
}

TEST(OutputRangeTest, TheOtherStreamIsPassedOver) {
  OutputRange range(OutputStream::kStderr, 0, 100);
  range.Add(OutputEvent(0, "out", OutputStream::kStdout));
  range.Add(GapEvent(3, 9, OutputStream::kStdout));
  range.Add(OutputEvent(0, "err", OutputStream::kStderr));
  range.Add(OutcomeEvent({}));
  EXPECT_TRUE(range.whole());
  EXPECT_TRUE(range.gaps().empty());
  EXPECT_EQ(std::move(range).data(), "err");
}

}  // namespace
}  // namespace sandkeep
