// The worst that reconciling can do is to give up a volume, or to touch what isn't ours.

#include "agent/sandbox/reconcile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/sandbox/binding.h"
#include "common/strings.h"

namespace sandkeep {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

const Secret kSecret(std::string(32, 's'));

EngineName NameOf(char c) { return *EngineName::Parse(StrCat("sandkeep-", std::string(20, c))); }

Binding BindingOf(std::string_view label) {
  const PrincipalId alice = *PrincipalId::Parse("key-alice");
  const Label parsed = *Label::Parse(label);
  return Binding{.key = MakeSandboxKey(kSecret, alice, parsed),
                 .principal = alice,
                 .label = parsed,
                 .generation = *Generation::FromBytes(std::string(16, 'g')),
                 .created = absl::FromUnixSeconds(1000)};
}

SandboxRow RowOf(std::string_view label, char volume, std::optional<char> container) {
  const Binding binding = BindingOf(label);
  SandboxRow row{.key = binding.key,
                 .principal = binding.principal,
                 .label = binding.label,
                 .generation = binding.generation,
                 .volume = NameOf(volume),
                 .container = std::nullopt,
                 .created = binding.created,
                 .last_used = absl::FromUnixSeconds(2000)};
  if (container) row.container = NameOf(*container);
  return row;
}

ContainerRecord ContainerOf(char name, char volume,
                            ContainerState state = ContainerState::kRunning) {
  return {.name = NameOf(name), .volume = NameOf(volume), .state = state};
}

VolumeRecord VolumeOf(char name, std::string_view label) {
  return {.name = NameOf(name), .binding = FormatBinding(BindingOf(label))};
}

TEST(ReconcileTest, WhatIsAsRecordedIsTakenOverUnchanged) {
  const RecoveryPlan plan =
      Reconcile({RowOf("otter", 'v', 'c')},
                {.containers = {ContainerOf('c', 'v')}, .volumes = {VolumeOf('v', "otter")}});

  ASSERT_THAT(plan.sandboxes, SizeIs(1));
  EXPECT_EQ(plan.sandboxes[0].container, ContainerState::kRunning);
  EXPECT_FALSE(plan.sandboxes[0].row_changed);
  EXPECT_THAT(plan.remove_containers, IsEmpty());
  EXPECT_THAT(plan.gone_containers, IsEmpty());
  EXPECT_THAT(plan.forget, IsEmpty());
}

TEST(ReconcileTest, ALostDatabaseIsRebuiltFromTheBindings) {
  const RecoveryPlan plan =
      Reconcile({}, {.containers = {ContainerOf('c', 'v')},
                     .volumes = {VolumeOf('v', "otter"), VolumeOf('w', "lynx")}});

  ASSERT_THAT(plan.sandboxes, SizeIs(2));
  const FoundSandbox& otter = plan.sandboxes[0];
  EXPECT_EQ(otter.row.key, BindingOf("otter").key);
  EXPECT_EQ(otter.row.generation, BindingOf("otter").generation);
  EXPECT_EQ(otter.row.container, NameOf('c'));
  EXPECT_EQ(otter.container, ContainerState::kRunning);
  EXPECT_TRUE(otter.row_changed);
  // Used at some time: what is in it must never be called new.
  EXPECT_NE(otter.row.last_used, absl::InfinitePast());
  EXPECT_EQ(plan.sandboxes[1].row.container, std::nullopt);
  EXPECT_THAT(plan.remove_containers, IsEmpty());
}

TEST(ReconcileTest, AContainerThatIsGoneIsTakenFromItsRow) {
  const RecoveryPlan plan = Reconcile({RowOf("otter", 'v', 'c')},
                                      {.containers = {}, .volumes = {VolumeOf('v', "otter")}});

  ASSERT_THAT(plan.sandboxes, SizeIs(1));
  EXPECT_EQ(plan.sandboxes[0].row.container, std::nullopt);
  EXPECT_EQ(plan.sandboxes[0].container, std::nullopt);
  EXPECT_TRUE(plan.sandboxes[0].row_changed);
  EXPECT_THAT(plan.gone_containers, ElementsAre(NameOf('c'))) << "its files are left";
}

TEST(ReconcileTest, ARowIsBelievedBeforeTheBindingIsRead) {
  const RecoveryPlan plan =
      Reconcile({RowOf("otter", 'v', std::nullopt)},
                {.containers = {}, .volumes = {{.name = NameOf('v'), .binding = "damaged"}}});

  EXPECT_THAT(plan.sandboxes, SizeIs(1));
  EXPECT_THAT(plan.kept_volumes, IsEmpty());
}

TEST(ReconcileTest, AVolumeWithoutRowAndBindingIsKeptAndItsContainerRemoved) {
  const RecoveryPlan plan = Reconcile({}, {.containers = {ContainerOf('c', 'v')},
                                           .volumes = {{.name = NameOf('v'), .binding = ""}}});

  EXPECT_THAT(plan.sandboxes, IsEmpty());
  EXPECT_THAT(plan.remove_containers, ElementsAre(NameOf('c')));
  ASSERT_THAT(plan.kept_volumes, SizeIs(1));
  EXPECT_EQ(plan.kept_volumes[0].name, NameOf('v'));
}

TEST(ReconcileTest, ASecondVolumeOfOneSandboxIsKeptAside) {
  const RecoveryPlan plan =
      Reconcile({RowOf("otter", 'v', std::nullopt)},
                {.containers = {}, .volumes = {VolumeOf('w', "otter"), VolumeOf('v', "otter")}});

  ASSERT_THAT(plan.sandboxes, SizeIs(1));
  EXPECT_EQ(plan.sandboxes[0].row.volume, NameOf('v'));
  ASSERT_THAT(plan.kept_volumes, SizeIs(1));
  EXPECT_EQ(plan.kept_volumes[0].name, NameOf('w'));
}

TEST(ReconcileTest, OfTwoContainersTheOneThatTheRowNamesStays) {
  for (const bool named_first : {true, false}) {
    std::vector<ContainerRecord> containers = {ContainerOf('c', 'v'), ContainerOf('d', 'v')};
    if (!named_first) std::swap(containers[0], containers[1]);

    const RecoveryPlan plan =
        Reconcile({RowOf("otter", 'v', 'c')},
                  {.containers = containers, .volumes = {VolumeOf('v', "otter")}});

    ASSERT_THAT(plan.sandboxes, SizeIs(1));
    EXPECT_EQ(plan.sandboxes[0].row.container, NameOf('c'));
    EXPECT_THAT(plan.remove_containers, ElementsAre(NameOf('d')));
  }
}

TEST(ReconcileTest, ARowWithNothingLeftIsForgotten) {
  const RecoveryPlan plan = Reconcile({RowOf("otter", 'v', 'c')}, {});

  EXPECT_THAT(plan.sandboxes, IsEmpty());
  EXPECT_THAT(plan.forget, ElementsAre(BindingOf("otter").key));
  EXPECT_THAT(plan.gone_containers, ElementsAre(NameOf('c')));
}

TEST(ReconcileTest, AContainerInAStateThatNobodyKnowsIsRemovedAndRebuiltLater) {
  const RecoveryPlan plan = Reconcile(
      {RowOf("otter", 'v', 'c')}, {.containers = {ContainerOf('c', 'v', ContainerState::kUnknown)},
                                   .volumes = {VolumeOf('v', "otter")}});

  EXPECT_THAT(plan.remove_containers, ElementsAre(NameOf('c')));
  ASSERT_THAT(plan.sandboxes, SizeIs(1));
  EXPECT_EQ(plan.sandboxes[0].row.container, std::nullopt);
}

}  // namespace
}  // namespace sandkeep
