// A binding that is misread gives one person's files to another.

#include "agent/sandbox/binding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/limits.h"
#include "common/strings.h"

namespace sandkeep {
namespace {

const Secret kSecret(std::string(32, 's'));

PrincipalId Alice() { return *PrincipalId::Parse("key-alice"); }
Label LabelOf(std::string_view text) { return *Label::Parse(text); }

Binding Sample() {
  return Binding{.key = MakeSandboxKey(kSecret, Alice(), LabelOf("amber-otter")),
                 .principal = Alice(),
                 .label = LabelOf("amber-otter"),
                 .generation = *Generation::FromBytes(std::string(16, 'g')),
                 .created = absl::FromUnixMillis(1234567890123)};
}

TEST(SandboxKeyTest, DependsOnPrincipalLabelAndSecret) {
  const SandboxKey key = MakeSandboxKey(kSecret, Alice(), LabelOf("amber-otter"));
  EXPECT_EQ(key, MakeSandboxKey(kSecret, Alice(), LabelOf("Amber  Otter!")));
  EXPECT_NE(key, MakeSandboxKey(kSecret, Alice(), LabelOf("amber-otter-2")));
  EXPECT_NE(key, MakeSandboxKey(kSecret, *PrincipalId::Parse("key-bob"), LabelOf("amber-otter")));
  EXPECT_NE(key, MakeSandboxKey(Secret(std::string(32, 't')), Alice(), LabelOf("amber-otter")));
}

TEST(SandboxKeyTest, DoesNotConfuseWhereThePrincipalEndsAndTheLabelBegins) {
  auto mac = [](std::string_view principal, std::string_view label) {
    const std::string key =
        MakeSandboxKey(kSecret, *PrincipalId::Parse(principal), LabelOf(label)).text();
    return key.substr(key.rfind('-'));
  };
  EXPECT_NE(mac("key-a", "bc"), mac("key-ab", "c"));
}

TEST(SandboxKeyTest, IsAKeyForALabelWithoutAscii) {
  const SandboxKey key = MakeSandboxKey(kSecret, Alice(), LabelOf("日本"));
  EXPECT_TRUE(SandboxKey::Parse(key.text()).ok()) << key.text();
}

TEST(BindingTest, ComesBackAsItWas) {
  const auto parsed = ParseBinding(FormatBinding(Sample()));
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(*parsed, Sample());
}

TEST(BindingTest, ALongestLabelFits) {
  Binding binding = Sample();
  binding.label = LabelOf("日本日本日本日本日本日本日本日本日本日本x");
  binding.principal = *PrincipalId::Parse("key-" + std::string(kMaxPrincipalBytes - 4, 'a'));
  EXPECT_LE(FormatBinding(binding).size(), kMaxBindingBytes);
  EXPECT_TRUE(ParseBinding(FormatBinding(binding)).ok());
}

TEST(BindingTest, AnythingElseIsRefused) {
  const std::string good = FormatBinding(Sample());
  auto changed = [&](std::string_view from, std::string_view to) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    return text;
  };
  const std::vector<std::string> bad = {
      "",
      "\n",
      good.substr(0, good.size() - 1),
      good + "\n",
      good + "more",
      " " + good,
      changed("sandkeep-binding 1", "sandkeep-binding 2"),
      changed("principal ", "principal  "),
      changed("label amber-otter", "label Amber Otter"),
      changed("label amber-otter", "label "),
      changed("key amber", "key /amber"),
      changed("generation 67", "generation 6G"),
      changed("created 1", "created -1"),
      changed("created 1", "created 01"),
      changed("created 1234567890123", "created 99999999999999999999"),
      std::string(1 << 20, 'x'),
      std::string(64, '\0'),
  };
  for (const std::string& text : bad) {
    EXPECT_EQ(ParseBinding(text).status().code(), absl::StatusCode::kInvalidArgument)
        << text.substr(0, 300);
  }
}

TEST(BindingTest, EveryTruncationIsRefused) {
  const std::string good = FormatBinding(Sample());
  for (std::size_t size = 0; size < good.size(); ++size) {
    EXPECT_FALSE(ParseBinding(good.substr(0, size)).ok()) << size;
  }
}

}  // namespace
}  // namespace sandkeep
