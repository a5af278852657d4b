// A binding says whose files a volume holds: it is never another's afterwards.

#include "agent/runtime/volume_folders.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "agent/runtime/warm_binding.h"

namespace sandkeep {
namespace {

class BindingFileTest : public testing::Test {
 protected:
  BindingFileTest() {
    std::string pattern = testing::TempDir() + "volumes-XXXXXX";
    if (::mkdtemp(pattern.data()) == nullptr) std::abort();
    volumes_ = pattern;
    std::filesystem::create_directory(volumes_ + "/" + volume_.text());
  }
  ~BindingFileTest() override { std::filesystem::remove_all(volumes_); }

  const EngineName volume_ = *EngineName::Parse("sandkeep-aaaaaaaaaaaaaaaaaaaa");
  std::string volumes_;
};

TEST_F(BindingFileTest, WhatIsBoundStaysSo) {
  ASSERT_TRUE(WriteBinding(volumes_, volume_, "alice").ok());
  EXPECT_TRUE(WriteBinding(volumes_, volume_, "alice").ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(WriteBinding(volumes_, volume_, "bob")));
  EXPECT_TRUE(absl::IsFailedPrecondition(WriteBinding(volumes_, volume_, kWarmBinding)));
  EXPECT_EQ(ReadBinding(volumes_, volume_), "alice");
}

TEST_F(BindingFileTest, OneOfThePoolIsBoundOnce) {
  ASSERT_TRUE(WriteBinding(volumes_, volume_, kWarmBinding).ok());
  EXPECT_TRUE(WriteBinding(volumes_, volume_, "alice").ok());
  EXPECT_EQ(ReadBinding(volumes_, volume_), "alice");
  EXPECT_FALSE(WriteBinding(volumes_, volume_, "bob").ok());
}

}  // namespace
}  // namespace sandkeep
