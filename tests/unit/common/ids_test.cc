// A name that parses must be one that we made: it ends up in engine commands, file names and links.

#include "common/ids.h"

#include <gtest/gtest.h>

#include <string>

namespace sandkeep {
namespace {

TEST(IdsTest, PrincipalNeedsAPrefix) {
  EXPECT_TRUE(PrincipalId::Parse("key-0123456789abcdef0123456789abcdef").ok());
  EXPECT_EQ(PrincipalId::Parse("key-a-b")->prefix(), "key");
  for (const char* text : {"", "key", "-key", "key-", "Key-a", "key-ä", "key-a/b", "key-a\n"}) {
    EXPECT_FALSE(PrincipalId::Parse(text).ok()) << text;
  }
  EXPECT_FALSE(PrincipalId::Parse("key-" + std::string(61, 'a')).ok());
}

TEST(IdsTest, SandboxKeyRoundTrips) {
  const SandboxKey made = SandboxKey::Make("amber-otter", std::string(32, '\x5a'));
  EXPECT_EQ(made.text().size(), std::string("amber-otter-").size() + 16);
  EXPECT_EQ(SandboxKey::Parse(made.text()).value(), made);
}

TEST(IdsTest, SandboxKeyRefusesWhatCouldBeAPath) {
  for (const char* text :
       {"", "amber", "a-aaaaaaaaaaaaaaa", "a-aaaaaaaaaaaaaaaaa", "../-aaaaaaaaaaaaaaaa",
        "-aaaaaaaaaaaaaaaa", "a-AAAAAAAAAAAAAAAA", "a-aaaaaaaaaaaaaaa1"}) {
    EXPECT_FALSE(SandboxKey::Parse(text).ok()) << text;
  }
  EXPECT_FALSE(SandboxKey::Parse(std::string(25, 'a') + "-aaaaaaaaaaaaaaaa").ok());
}

TEST(IdsTest, EngineNamesAreOursAndDiffer) {
  const EngineName one = EngineName::Make(SystemRandom());
  EXPECT_NE(one, EngineName::Make(SystemRandom()));
  EXPECT_EQ(EngineName::Parse(one.text()).value(), one);
  EXPECT_FALSE(EngineName::Parse("postgres").ok());
  EXPECT_FALSE(EngineName::Parse("sandkeep-").ok());
  EXPECT_FALSE(EngineName::Parse("sandkeep-aaaaaaaaaaaaaaaaaaa/").ok());
}

TEST(IdsTest, JobIdIsSixteenBytesOrThirtyTwoDigits) {
  const JobId id = JobId::Random(SystemRandom());
  EXPECT_EQ(JobId::FromHex(id.hex()).value(), id);
  EXPECT_EQ(JobId::FromBytes(id.bytes()).value(), id);
  EXPECT_FALSE(JobId::FromBytes(std::string(15, 'a')).ok());
  EXPECT_FALSE(JobId::FromHex(std::string(32, 'g')).ok());
  EXPECT_FALSE(JobId::FromHex(std::string(32, 'A')).ok());
}

}  // namespace
}  // namespace sandkeep
