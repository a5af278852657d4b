// podman's output decides what Recover removes: what another agent or person owns must never look
// like ours, and a shape that we don't know must be an error and not an empty list.

#include "agent/runtime/podman_output.h"

#include <gtest/gtest.h>

#include "agent/runtime/subordinate_ids.h"
#include "common/limits.h"
#include "common/strings.h"

namespace sandkeep {
namespace {

constexpr std::string_view kInstanceHex = "000102030405060708090a0b0c0d0e0f";
constexpr std::string_view kName = "sandkeep-abcdefghijklmnopqrst";
constexpr std::string_view kVolume = "sandkeep-bbbbbbbbbbbbbbbbbbbb";

const InstanceId& Instance() {
  static const InstanceId instance = *InstanceId::FromHex(kInstanceHex);
  return instance;
}

std::string Labels(std::string_view instance = kInstanceHex, std::string_view volume = kVolume) {
  return StrCat(R"("Labels":{"sandkeep.instance":")", instance, R"(","sandkeep.volume":")", volume,
                R"("})");
}

// One element as 4.3 and 5 print it, cut to the members that differ or count.
std::string Container(std::string_view labels, std::string_view state = "running",
                      std::string_view name = kName) {
  return StrCat(R"({"AutoRemove":false,"Command":["x"],"Exited":false,"ExitedAt":-62135596800,)",
                R"("Id":"e63ab3b8","Names":[")", name, R"("],"Pid":6303,"Ports":null,"Size":null,)",
                R"("State":")", state, R"(","Status":"Up","Networks":[],)", labels, "}");
}

TEST(ParseContainersTest, FindsOurs) {
  const auto list = ParseContainers(StrCat("[", Container(Labels()), "]"), Instance());

  ASSERT_TRUE(list.ok()) << list.status();
  ASSERT_EQ(list->size(), 1u);
  EXPECT_EQ(list->front().record.name.text(), kName);
  EXPECT_EQ(list->front().record.volume.text(), kVolume);
  EXPECT_EQ(list->front().record.state, ContainerState::kRunning);
  EXPECT_EQ(list->front().init_pid, 6303);
}

TEST(ParseContainersTest, LeavesStrangersAlone) {
  const std::string other = "ffffffffffffffffffffffffffffffff";
  const auto list = ParseContainers(
      StrCat("[", Container(Labels(other)), ",", Container(R"("Labels":null)"), ",",
             Container(R"("Labels":{})"), ",", Container(Labels(), "running", "web"), ",",
             Container(Labels(kInstanceHex, "data")), "]"),
      Instance());

  ASSERT_TRUE(list.ok()) << list.status();
  EXPECT_TRUE(list->empty());
}

TEST(ParseContainersTest, KnowsEveryState) {
  const std::pair<const char*, ContainerState> states[] = {
      {"running", ContainerState::kRunning},     {"paused", ContainerState::kFrozen},
      {"created", ContainerState::kStopped},     {"configured", ContainerState::kStopped},
      {"initialized", ContainerState::kStopped}, {"exited", ContainerState::kStopped},
      {"stopped", ContainerState::kStopped},     {"stopping", ContainerState::kStopped},
      {"removing", ContainerState::kUnknown},    {"new in 6.0", ContainerState::kUnknown},
  };
  for (const auto& [text, state] : states) {
    const auto list = ParseContainers(StrCat("[", Container(Labels(), text), "]"), Instance());
    ASSERT_TRUE(list.ok()) << list.status();
    EXPECT_EQ(list->front().record.state, state) << text;
  }
}

TEST(ParseContainersTest, NothingIsAnEmptyList) {
  for (const char* text : {"", "\n", "[]", "[]\n", "null"}) {
    const auto list = ParseContainers(text, Instance());
    ASSERT_TRUE(list.ok()) << text << list.status();
    EXPECT_TRUE(list->empty());
  }
}

TEST(ParseContainersTest, GarbageIsAnErrorAndNotAnEmptyList) {
  for (const char* text :
       {"{", "Error: no such thing", "{}", "[1]", "[null]", "\"x\"", "[{}", "[[]]"}) {
    EXPECT_TRUE(absl::IsDataLoss(ParseContainers(text, Instance()).status())) << text;
  }
  const std::string nameless = StrCat("[{", Labels(), R"(,"State":"running","Names":[]}])");
  EXPECT_TRUE(absl::IsDataLoss(ParseContainers(nameless, Instance()).status()));
}

TEST(ParseContainersTest, DepthAndLengthAreBounded) {
  const std::string deep = StrCat(std::string(100000, '['), std::string(100000, ']'));
  EXPECT_TRUE(absl::IsDataLoss(ParseContainers(deep, Instance()).status()));
  const std::string huge(kMaxEngineOutputBytes + 1, ' ');
  EXPECT_TRUE(absl::IsDataLoss(ParseContainers(huge + "[]", Instance()).status()));
}

TEST(ParseContainersTest, TwoThousandContainersAreRead) {
  std::string text = "[";
  for (int i = 0; i < 2000; ++i) StrAppend(&text, i == 0 ? "" : ",", Container(Labels()));
  const auto list = ParseContainers(text + "]", Instance());
  ASSERT_TRUE(list.ok()) << list.status();
  EXPECT_EQ(list->size(), 2000u);
}

TEST(ParseContainersTest, AStrangePidIsNoPid) {
  for (const char* pid : {"-1", "99999999999", "1.5", "\"7\"", "null"}) {
    std::string text = StrCat("[", Container(Labels()), "]");
    text.replace(text.find("6303"), 4, pid);
    const auto list = ParseContainers(text, Instance());
    ASSERT_TRUE(list.ok()) << list.status();
    EXPECT_EQ(list->front().init_pid, 0) << pid;
  }
}

TEST(ParseVolumesTest, FindsOursWithTheirMountPoints) {
  const auto ours = [](std::string_view name, std::string_view labels) {
    return StrCat(R"({"Name":")", name, R"(","Driver":"local","Mountpoint":"/v/)", name,
                  R"(/_data","Scope":"local","Options":{},"MountCount":0,)", labels, "}");
  };
  const auto list = ParseVolumes(StrCat("[", ours(kVolume, Labels()), ",", ours("x", Labels()), ",",
                                        ours(kVolume, R"("Labels":{})"), "]"),
                                 Instance());

  ASSERT_TRUE(list.ok()) << list.status();
  ASSERT_EQ(list->size(), 1u);
  EXPECT_EQ(list->front().name.text(), kVolume);
  EXPECT_EQ(list->front().mountpoint, StrCat("/v/", kVolume, "/_data"));
}

TEST(ParseOldImagesTest, OnlyWhatIsSaidToBeUnusedIsTaken) {
  const std::string unused(64, 'a');
  const std::string configured(64, 'b');
  const auto image = [](std::string_view id, std::string_view rest) {
    return StrCat("{\"Id\":\"", id, "\"", rest, "}");
  };
  const std::string text =
      StrCat("[", image(unused, ",\"Containers\":0,\"Size\":1036259762"), ",",
             image(std::string(64, 'c'), ",\"Containers\":2,\"Size\":1"), ",",
             image(std::string(64, 'd'), ",\"Size\":1"), ",", image("--force", ",\"Containers\":0"),
             ",", image(configured, ",\"Containers\":0"), "]");
  const auto images = ParseOldImages(text, "bbbbbbbbbbbb");
  ASSERT_TRUE(images.ok()) << images.status();
  ASSERT_EQ(images->size(), 1U);
  EXPECT_EQ(images->front().id, unused);
  EXPECT_EQ(images->front().bytes, 1036259762);
}

TEST(ParseVolumesTest, ARelativeMountPointIsAnError) {
  const std::string text =
      StrCat(R"([{"Name":")", kVolume, R"(","Mountpoint":"x",)", Labels(), "}]");
  EXPECT_TRUE(absl::IsDataLoss(ParseVolumes(text, Instance()).status()));
}

std::string Inspect(std::string_view status, std::string_view labels) {
  // Entrypoint is a string in 4.3 and a list in 5, StopSignal a number and a string.
  return StrCat(R"([{"Id":"e6","State":{"Status":")", status,
                R"(","Pid":77},"Config":{"Hostname":"amber","Entrypoint":["/x"],)",
                R"("StopSignal":"SIGKILL",)", labels, "}}]");
}

TEST(ParseInspectTest, ReadsStatePidAndHostname) {
  const auto container = ParseInspect(Inspect("running", Labels()), Instance());

  ASSERT_TRUE(container.ok()) << container.status();
  EXPECT_EQ(container->state, ContainerState::kRunning);
  EXPECT_EQ(container->init_pid, 77);
  EXPECT_EQ(container->hostname, "amber");
  EXPECT_TRUE(container->ours);
  EXPECT_FALSE(container->never_ran);
}

TEST(ParseInspectTest, AStoppedOneHasNoPid) {
  const auto container = ParseInspect(Inspect("exited", Labels()), Instance());
  ASSERT_TRUE(container.ok()) << container.status();
  EXPECT_EQ(container->init_pid, 0);
}

TEST(ParseInspectTest, OnlyACreatedOneNeverRan) {
  EXPECT_TRUE(ParseInspect(Inspect("created", Labels()), Instance())->never_ran);
  EXPECT_FALSE(ParseInspect(Inspect("exited", Labels()), Instance())->never_ran);
  EXPECT_TRUE(ParseInspect(Inspect("stopping", Labels()), Instance())->between_states);
  EXPECT_FALSE(ParseInspect(Inspect("exited", Labels()), Instance())->between_states);
}

TEST(ParseInspectTest, ALabelOfAnotherAgentIsNotOurs) {
  EXPECT_FALSE(ParseInspect(Inspect("running", R"("Labels":null)"), Instance())->ours);
}

TEST(ParseInspectTest, AnEmptyListIsNotFound) {
  EXPECT_TRUE(absl::IsNotFound(ParseInspect("[]\n", Instance()).status()));
}

TEST(ParseVersionTest, ReadsWhatPodmanCallsItself) {
  const std::pair<const char*, std::pair<int, int>> versions[] = {
      {"4.3.1", {4, 3}}, {"5.4.2", {5, 4}}, {"5.0.0-rc1", {5, 0}}, {"10.12.0", {10, 12}}};
  for (const auto& [text, numbers] : versions) {
    const auto version = ParseVersion(StrCat(R"({"Client":{"Version":")", text, R"("}})"));
    ASSERT_TRUE(version.ok()) << text;
    EXPECT_EQ(std::pair(version->major, version->minor), numbers);
    EXPECT_EQ(version->text, text);
  }
}

TEST(ParseVersionTest, RefusesWhatIsNone) {
  for (const char* text :
       {"", "{}", "[]", R"({"Client":{"Version":"four"}})", R"({"Client":{"Version":"4"}})",
        R"({"Client":{"Version":"-4.3"}})", R"({"Client":{"Version":5}})"}) {
    EXPECT_FALSE(ParseVersion(text).ok()) << text;
  }
}

TEST(SubordinateIdsTest, FindsTheUserByNameOrNumber) {
  const char* text = "other:1000:10\nsandkeep:100000:65536\n42:200000:65536\n";

  EXPECT_EQ(ParseSubordinateIds(text, "sandkeep", 7)->start, 100000u);
  EXPECT_EQ(ParseSubordinateIds(text, "nobody", 42)->start, 200000u);
  EXPECT_TRUE(absl::IsNotFound(ParseSubordinateIds(text, "nobody", 7).status()));
}

TEST(SubordinateIdsTest, SkipsLinesThatAreNoRanges) {
  const char* text =
      "sandkeep\nsandkeep:1\nsandkeep:x:9\nsandkeep:0:10\nsandkeep:5:0\nsandkeep:4294967295:10\n"
      "sandkeep:-1:4\nsandkeep:7:8:9\nsandkeep:300000:1000";
  const auto range = ParseSubordinateIds(text, "sandkeep", 7);
  ASSERT_TRUE(range.ok());
  EXPECT_EQ(range->start, 300000u);
  EXPECT_EQ(range->count, 1000u);
}

}  // namespace
}  // namespace sandkeep
