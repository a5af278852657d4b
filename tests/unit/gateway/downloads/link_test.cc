// A link is permission for whoever has it: nothing but the very link that was made may pass.

#include "gateway/downloads/link.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/strings.h"
#include "gateway/downloads/signing_keys.h"
#include "gateway/store/database.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fakes/fake_random.h"

namespace sandkeep {
namespace {

using std::chrono::seconds;

constexpr std::string_view kBase = "https://sandbox.example.com";
constexpr std::string_view kKey = "amber-otter-abcdefghijklmnop";
const std::string kGeneration(16, '\x42');

class LinkTest : public testing::Test {
 protected:
  std::string Make(std::string_view path) { return signer_.Make(kBase, kKey, kGeneration, path); }
  static std::string_view Rest(std::string_view link) {
    return link.substr(kBase.size() + std::string_view("/dl/").size());
  }
  LinkVerdict Judge(std::string_view rest, const LinkSigner& signer) {
    const std::optional<LinkClaim> claim = LinkClaim::Parse(rest);
    return claim.has_value() ? signer.Judge(*claim, kGeneration) : LinkVerdict::kWrong;
  }
  LinkVerdict Judge(std::string_view rest) { return Judge(rest, signer_); }

  FakeClock clock_;
  LinkSigner signer_{{Secret(std::string(32, 'k'))}, seconds(3600), clock_};
};

TEST_F(LinkTest, AFreshLinkIsGoodAndShort) {
  const std::string link = Make("report.pdf");
  EXPECT_EQ(Judge(Rest(link)), LinkVerdict::kGood) << link;
  EXPECT_LT(link.size(), 110u) << link;
}

TEST_F(LinkTest, AJobsOutputIsAnotherThingThanAFileOfThatPath) {
  const JobId job = *JobId::FromHex("0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f");
  const std::string output = signer_.MakeForJob(kBase, kKey, kGeneration, job);
  const std::string file = Make(StrCat(".jobs/", job.hex()));
  const LinkClaim of_output = *LinkClaim::Parse(Rest(output));
  const LinkClaim of_file = *LinkClaim::Parse(Rest(file));
  EXPECT_EQ(of_output.job(), job);
  EXPECT_EQ(signer_.JudgeForJob(of_output, kGeneration), LinkVerdict::kGood);
  EXPECT_EQ(signer_.Judge(of_output, kGeneration), LinkVerdict::kWrong);
  EXPECT_EQ(signer_.Judge(of_file, kGeneration), LinkVerdict::kGood);
  EXPECT_EQ(signer_.JudgeForJob(of_file, kGeneration), LinkVerdict::kWrong);
  EXPECT_EQ(LinkClaim::Parse(Rest(Make(".jobs/x")))->job(), std::nullopt);
  EXPECT_EQ(LinkClaim::Parse(Rest(Make(StrCat("a/.jobs/", job.hex()))))->job(), std::nullopt);
  clock_.Advance(absl::Seconds(3601));
  EXPECT_EQ(signer_.JudgeForJob(of_output, kGeneration), LinkVerdict::kExpired);
}

TEST_F(LinkTest, NoSingleBitMayDiffer) {
  for (const std::string_view path : {"a/report 1.pdf", "größe (2).txt", "x"}) {
    const std::string rest(Rest(Make(path)));
    for (std::size_t bit = 0; bit < rest.size() * 8; ++bit) {
      std::string altered = rest;
      altered[bit / 8] = static_cast<char>(altered[bit / 8] ^ (1 << bit % 8));
      EXPECT_EQ(Judge(altered), LinkVerdict::kWrong) << rest << " -> " << altered;
    }
  }
}

TEST_F(LinkTest, NothingMayBeAddedOrMissing) {
  const std::string rest(Rest(Make("a/b.txt")));
  for (std::size_t size = 0; size < rest.size(); ++size) {
    EXPECT_EQ(Judge(rest.substr(0, size)), LinkVerdict::kWrong) << size;
  }
  for (const std::string_view tail : {"/", "%00", "x", "=", "%2F", "/."}) {
    EXPECT_EQ(Judge(StrCat(rest, tail)), LinkVerdict::kWrong) << tail;
  }
  EXPECT_EQ(Judge(StrCat("0", rest)), LinkVerdict::kWrong);
  EXPECT_EQ(Judge(StrCat("+", rest)), LinkVerdict::kWrong);
  EXPECT_EQ(Judge(StrCat("/", rest)), LinkVerdict::kWrong);
}

TEST_F(LinkTest, TheSignatureHasOneSpelling) {
  const std::string rest(Rest(Make("f")));
  const std::size_t begin = rest.find('/') + 1;
  const std::size_t end = rest.find('/', begin);
  ASSERT_EQ(end - begin, 22u);
  // The last character carries two bits: fifteen others decode to the same bytes elsewhere.
  for (const char c :
       std::string_view("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_+/=")) {
    std::string altered = rest;
    altered[end - 1] = c;
    if (altered == rest) continue;
    EXPECT_EQ(Judge(altered), LinkVerdict::kWrong) << c;
  }
  std::string padded = rest;
  padded.insert(end, "==");
  EXPECT_EQ(Judge(padded), LinkVerdict::kWrong);
}

TEST_F(LinkTest, AnotherSpellingOfThePathByAChatClientIsTheSameLink) {
  const std::string rest(Rest(Make("größe (2).txt")));
  EXPECT_NE(rest.find("%28"), std::string::npos) << "brackets end a Markdown link";
  std::string decoded = rest;
  decoded.replace(decoded.find("%28"), 3, "(");
  EXPECT_EQ(Judge(decoded), LinkVerdict::kGood);
}

TEST_F(LinkTest, EndsAtItsSecondAndSaysSoOnlyIfItWasRight) {
  const std::string rest(Rest(Make("f")));
  clock_.Advance(absl::Seconds(3599));
  EXPECT_EQ(Judge(rest), LinkVerdict::kGood);
  clock_.Advance(absl::Seconds(1));
  EXPECT_EQ(Judge(rest), LinkVerdict::kExpired);
  std::string altered = rest;
  altered.back() = 'g';
  EXPECT_EQ(Judge(altered), LinkVerdict::kWrong);
}

TEST_F(LinkTest, ANewVolumeOfTheSameKeyServesNothingByOldLinks) {
  const std::string link = Make("f");
  const std::optional<LinkClaim> claim = LinkClaim::Parse(Rest(link));
  ASSERT_TRUE(claim.has_value());
  EXPECT_EQ(signer_.Judge(*claim, std::string(16, '\x43')), LinkVerdict::kWrong);
  EXPECT_EQ(signer_.Judge(*claim, ""), LinkVerdict::kWrong);
}

TEST_F(LinkTest, PathsThatAreNotPlainAreNoLinks) {
  for (const std::string_view path : {"../x", "a/../b", "/etc/passwd", "a//b", "a/", "./a", ""}) {
    EXPECT_EQ(Judge(Rest(Make(path))), LinkVerdict::kWrong) << path;
  }
  EXPECT_EQ(Judge(Rest(Make(std::string_view("a\0b", 3)))), LinkVerdict::kWrong);
  EXPECT_EQ(Judge(Rest(Make(std::string(5000, 'a')))), LinkVerdict::kWrong);
}

TEST_F(LinkTest, FieldsCannotBeShiftedIntoEachOther) {
  const std::string one(Rest(signer_.Make(kBase, kKey, "g", "ab")));
  const std::optional<LinkClaim> claim = LinkClaim::Parse(one);
  EXPECT_EQ(signer_.Judge(*claim, "g"), LinkVerdict::kGood);
  EXPECT_EQ(signer_.Judge(*claim, "g1"), LinkVerdict::kWrong);
}

TEST_F(LinkTest, AnOlderKeyStillVerifiesAndTheFirstSigns) {
  const LinkSigner rotated({Secret("new"), Secret(std::string(32, 'k'))}, seconds(60), clock_);
  EXPECT_EQ(Judge(Rest(Make("f")), rotated), LinkVerdict::kGood);
  LinkSigner only_new({Secret("new")}, seconds(60), clock_);
  EXPECT_EQ(Judge(Rest(only_new.Make(kBase, kKey, kGeneration, "f")), rotated), LinkVerdict::kGood);
  EXPECT_EQ(Judge(Rest(Make("f")), only_new), LinkVerdict::kWrong);
}

TEST_F(LinkTest, TheSigningKeyIsMadeOnceAndAConfiguredOneGoesFirst) {
  FakeRandom random;
  auto db = Database::Open(":memory:", Database::Durability::kNormal, {});
  ASSERT_TRUE(db.ok());
  ASSERT_TRUE(
      db->Execute(
            "CREATE TABLE signing_keys (id INTEGER PRIMARY KEY, key BLOB, created_ms INTEGER)")
          .ok());
  const auto first = *LoadSigningKeys(*db, Secret(), random, clock_);
  const auto again = *LoadSigningKeys(*db, Secret("configured"), random, clock_);
  ASSERT_EQ(first.size(), 1u);
  EXPECT_EQ(first[0].Reveal().size(), 32u);
  ASSERT_EQ(again.size(), 2u);
  EXPECT_EQ(again[0].Reveal(), "configured");
  EXPECT_EQ(again[1].Reveal(), first[0].Reveal());
}

}  // namespace
}  // namespace sandkeep
