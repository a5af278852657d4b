// A binding says whose files a volume holds: it is never another's afterwards.

#include "agent/runtime/volume_folders.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string_view>

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

// podman's storage, as far as it is looked at.
class ContainerLayerTest : public testing::Test {
 protected:
  ContainerLayerTest() {
    std::string pattern = testing::TempDir() + "storage-XXXXXX";
    if (::mkdtemp(pattern.data()) == nullptr) std::abort();
    storage_ = pattern;
    std::filesystem::create_directories(storage_ / "overlay-containers");
    std::filesystem::create_directories(storage_ / "overlay" / "0a1b" / "diff");
  }
  ~ContainerLayerTest() override { std::filesystem::remove_all(storage_); }

  void List(std::string_view json) {
    std::ofstream(storage_ / "overlay-containers" / "containers.json") << json;
  }
  absl::StatusOr<UniqueFd> Open() {
    return OpenContainerLayer((storage_ / "volumes").string(), container_);
  }

  const EngineName container_ = *EngineName::Parse("sandkeep-aaaaaaaaaaaaaaaaaaaa");
  std::filesystem::path storage_;
};

TEST_F(ContainerLayerTest, IsFoundByTheContainersName) {
  List(R"([{"id":"1","names":["other"],"layer":"ffff"},)"
       R"({"id":"2","names":["sandkeep-aaaaaaaaaaaaaaaaaaaa"],"layer":"0a1b"}])");
  const auto layer = Open();
  ASSERT_TRUE(layer.ok()) << layer.status();
  const std::string proc = "/proc/self/fd/" + std::to_string(layer->get());
  EXPECT_TRUE(std::filesystem::equivalent(proc, storage_ / "overlay" / "0a1b"));
}

TEST_F(ContainerLayerTest, NothingElseIsOpenedWhateverTheListSays) {
  EXPECT_TRUE(absl::IsNotFound(Open().status()));
  for (const char* const list : {
           "",
           "null",
           "{}",
           "[1]",
           "[{}]",
           "not json",
           R"([{"names":["sandkeep-aaaaaaaaaaaaaaaaaaaa"],"layer":"../overlay/0a1b"}])",
           R"([{"names":["sandkeep-aaaaaaaaaaaaaaaaaaaa"],"layer":""}])",
           R"([{"names":["sandkeep-aaaaaaaaaaaaaaaaaaaa"],"layer":7}])",
           R"([{"names":["sandkeep-aaaaaaaaaaaaaaaaaaaa"],"layer":"ffff"}])",
           R"([{"names":"sandkeep-aaaaaaaaaaaaaaaaaaaa","layer":"0a1b"}])",
       }) {
    List(list);
    EXPECT_TRUE(absl::IsNotFound(Open().status())) << list;
  }
}

}  // namespace
}  // namespace sandkeep
