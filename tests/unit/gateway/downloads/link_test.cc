// A link is permission for whoever has it: nothing but the very link that was made may pass.

#include "gateway/downloads/link.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <initializer_list>
#include <string>
#include <vector>

#include "common/strings.h"
#include "gateway/downloads/link_table.h"
#include "gateway/store/database.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fakes/fake_random.h"

namespace sandkeep {
namespace {

using std::chrono::seconds;

constexpr std::string_view kBase = "https://sandbox.example.com";
constexpr std::string_view kPrincipal = "key-0123";
constexpr std::string_view kKey = "amber-otter-abcdefghijklmnop";
const std::string kGeneration(16, '\x42');
const std::string kOldKey(32, 'k');

class LinkTest : public testing::Test {
 protected:
  static LinkSecrets SecretsOf(std::initializer_list<std::string> keys) {
    LinkSecrets secrets;
    for (const std::string& key : keys) secrets.keys.push_back({.secret = Secret(key)});
    return secrets;
  }
  static mcp::LinkTarget Target(std::string_view generation = kGeneration) {
    return {.principal = kPrincipal, .key = kKey, .generation = generation};
  }
  static LinkOwner Owner(std::string_view generation = kGeneration) {
    return {.principal = kPrincipal, .generation = generation};
  }
  std::string Make(std::string_view path) { return signer_.Make(kBase, Target(), path); }
  static std::string_view Rest(std::string_view link) {
    return link.substr(kBase.size() + std::string_view("/dl/").size());
  }
  LinkVerdict Judge(std::string_view rest, const LinkSigner& signer) {
    const std::optional<LinkClaim> claim = LinkClaim::Parse(rest);
    return claim.has_value() ? signer.Judge(*claim, Owner()) : LinkVerdict::kWrong;
  }
  LinkVerdict Judge(std::string_view rest) { return Judge(rest, signer_); }

  FakeClock clock_;
  LinkBook book_{SecretsOf({kOldKey})};
  LinkSigner signer_{book_, LinkLifetimes(seconds(3600)), clock_};
};

TEST_F(LinkTest, AFreshLinkIsGoodAndShort) {
  const std::string link = Make("report.pdf");
  EXPECT_EQ(Judge(Rest(link)), LinkVerdict::kGood) << link;
  EXPECT_LT(link.size(), 110u) << link;
}

TEST_F(LinkTest, AJobsOutputIsAnotherThingThanAFileOfThatPath) {
  const JobId job = *JobId::FromHex("0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f");
  const std::string output = signer_.MakeForJob(kBase, Target(), job, false);
  const std::string file = Make(StrCat(".jobs/", job.hex()));
  const LinkClaim of_output = *LinkClaim::Parse(Rest(output));
  const LinkClaim of_file = *LinkClaim::Parse(Rest(file));
  EXPECT_EQ(of_output.job(), (LinkedOutput{job, false}));
  const LinkClaim of_errors =
      *LinkClaim::Parse(Rest(signer_.MakeForJob(kBase, Target(), job, true)));
  EXPECT_EQ(of_errors.job(), (LinkedOutput{job, true}));
  EXPECT_EQ(signer_.JudgeForJob(of_errors, Owner()), LinkVerdict::kGood);
  EXPECT_EQ(signer_.JudgeForJob(of_output, Owner()), LinkVerdict::kGood);
  EXPECT_EQ(signer_.Judge(of_output, Owner()), LinkVerdict::kWrong);
  EXPECT_EQ(signer_.Judge(of_file, Owner()), LinkVerdict::kGood);
  EXPECT_EQ(signer_.JudgeForJob(of_file, Owner()), LinkVerdict::kWrong);
  EXPECT_EQ(LinkClaim::Parse(Rest(Make(".jobs/x")))->job(), std::nullopt);
  EXPECT_EQ(LinkClaim::Parse(Rest(Make(StrCat("a/.jobs/", job.hex()))))->job(), std::nullopt);
  clock_.Advance(absl::Seconds(3601));
  EXPECT_EQ(signer_.JudgeForJob(of_output, Owner()), LinkVerdict::kExpired);
}

TEST_F(LinkTest, AFoldersArchiveIsAnotherThingThanAFileOfThatName) {
  const auto claim = [&](std::string_view path, mcp::ArchiveFormat format) {
    return *LinkClaim::Parse(Rest(signer_.MakeForFolder(kBase, Target(), path, format)));
  };
  const LinkClaim archive = claim("a/b", mcp::ArchiveFormat::kZip);
  EXPECT_EQ(archive.folder()->path, "a/b");
  EXPECT_EQ(archive.folder()->format, mcp::ArchiveFormat::kZip);
  const LinkClaim tar = claim("a/b.zip", mcp::ArchiveFormat::kTar);
  EXPECT_EQ(tar.folder()->path, "a/b.zip");
  EXPECT_EQ(tar.folder()->format, mcp::ArchiveFormat::kTar);
  EXPECT_EQ(signer_.JudgeForFolder(archive, Owner()), LinkVerdict::kGood);
  EXPECT_EQ(signer_.Judge(archive, Owner()), LinkVerdict::kWrong);
  const LinkClaim file = *LinkClaim::Parse(Rest(Make("a/b.zip")));
  EXPECT_EQ(signer_.JudgeForFolder(file, Owner()), LinkVerdict::kWrong);
  EXPECT_EQ(claim("", mcp::ArchiveFormat::kZip).folder()->path, "");
  EXPECT_FALSE(LinkClaim::Parse(Rest(Make("a/.zip")))->folder().has_value());
  EXPECT_FALSE(LinkClaim::Parse(Rest(Make("a.zap")))->folder().has_value());
}

TEST_F(LinkTest, AnOriginOfTheirOwnIsWhereAllLead) {
  LinkSigner elsewhere(book_, LinkLifetimes(seconds(3600)), clock_, "https://files.example.com");
  const std::string link = elsewhere.Make(kBase, Target(), "a");
  EXPECT_EQ(link.substr(0, 29), "https://files.example.com/dl/");
  EXPECT_EQ(link.substr(25), signer_.Make(kBase, Target(), "a").substr(kBase.size()));
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
  EXPECT_EQ(signer_.Judge(*claim, Owner(std::string(16, '\x43'))), LinkVerdict::kWrong);
  EXPECT_EQ(signer_.Judge(*claim, Owner("")), LinkVerdict::kWrong);
}

TEST_F(LinkTest, PathsThatAreNotPlainAreNoLinks) {
  for (const std::string_view path : {"../x", "a/../b", "/etc/passwd", "a//b", "a/", "./a", ""}) {
    EXPECT_EQ(Judge(Rest(Make(path))), LinkVerdict::kWrong) << path;
  }
  EXPECT_EQ(Judge(Rest(Make(std::string_view("a\0b", 3)))), LinkVerdict::kWrong);
  EXPECT_EQ(Judge(Rest(Make(std::string(5000, 'a')))), LinkVerdict::kWrong);
}

TEST_F(LinkTest, FieldsCannotBeShiftedIntoEachOther) {
  const std::string one(Rest(signer_.Make(kBase, Target("g"), "ab")));
  const std::optional<LinkClaim> claim = LinkClaim::Parse(one);
  EXPECT_EQ(signer_.Judge(*claim, Owner("g")), LinkVerdict::kGood);
  EXPECT_EQ(signer_.Judge(*claim, Owner("g1")), LinkVerdict::kWrong);
}

TEST_F(LinkTest, AnOlderKeyVerifiesUntilItsEndAndTheFirstSigns) {
  LinkSecrets secrets = SecretsOf({"new", kOldKey});
  secrets.keys[1].ends = clock_.Now() + absl::Seconds(60);
  const LinkBook both(secrets);
  LinkSigner rotated(both, LinkLifetimes(seconds(3600)), clock_);
  const LinkBook one(SecretsOf({"new"}));
  LinkSigner only_new(one, LinkLifetimes(seconds(3600)), clock_);
  const std::string old(Rest(Make("f")));
  EXPECT_EQ(Judge(old, rotated), LinkVerdict::kGood);
  EXPECT_EQ(Judge(Rest(rotated.Make(kBase, Target(), "f")), only_new), LinkVerdict::kGood);
  EXPECT_EQ(Judge(old, only_new), LinkVerdict::kWrong);
  clock_.Advance(absl::Seconds(60));
  EXPECT_EQ(Judge(old, rotated), LinkVerdict::kWrong);
}

TEST_F(LinkTest, WhatWasRevokedIsWrongAndWhatIsMadeLaterIsGood) {
  const std::string before(Rest(Make("f")));
  const std::string single(Rest(Make("g")));
  LinkSecrets secrets = SecretsOf({kOldKey});
  secrets.revoked.insert(LinkClaim::Parse(single)->signature);
  const LinkBook one(secrets);
  EXPECT_EQ(Judge(single, LinkSigner(one, LinkLifetimes(seconds(3600)), clock_)),
            LinkVerdict::kWrong);
  EXPECT_EQ(Judge(before, LinkSigner(one, LinkLifetimes(seconds(3600)), clock_)),
            LinkVerdict::kGood);
  secrets.epochs.emplace(kPrincipal, 1);
  const LinkBook all(secrets);
  LinkSigner after(all, LinkLifetimes(seconds(3600)), clock_);
  EXPECT_EQ(Judge(before, after), LinkVerdict::kWrong);
  EXPECT_EQ(Judge(Rest(after.Make(kBase, Target(), "f")), after), LinkVerdict::kGood);
  // Nobody else's.
  EXPECT_EQ(
      after.Judge(*LinkClaim::Parse(before), {.principal = "key-other", .generation = kGeneration}),
      LinkVerdict::kGood);
}

TEST_F(LinkTest, TheStampInAnEtagIsThisLinksAndThisFiles) {
  const LinkClaim one = *LinkClaim::Parse(Rest(Make("f")));
  const LinkClaim other = *LinkClaim::Parse(Rest(Make("g")));
  EXPECT_NE(signer_.Stamped(one, "etag"), signer_.Stamped(other, "etag"));
  EXPECT_NE(signer_.Stamped(one, "etag").substr(4), signer_.Stamped(one, "atag").substr(4));
  // A rotation ends no download.
  const LinkBook both(SecretsOf({"new", kOldKey}));
  EXPECT_EQ(LinkSigner(both, LinkLifetimes(seconds(60)), clock_).Stamped(one, "etag"),
            signer_.Stamped(one, "etag"));
}

class LinkTableTest : public testing::Test {
 protected:
  LinkTableTest() {
    char folder[] = "/tmp/sandkeep-links-test.XXXXXX";
    folder_ = ::mkdtemp(folder);
  }
  ~LinkTableTest() override { std::filesystem::remove_all(folder_); }
  LinkTable Open() { return LinkTable(*OpenGatewayDatabase(folder_)); }
  std::vector<std::string> Keys(LinkTable& table) {
    std::vector<std::string> keys;
    const auto secrets = table.Load();
    if (!secrets.ok()) return {secrets.status().ToString()};
    for (const LinkKey& key : secrets->keys) keys.emplace_back(key.secret.Reveal());
    return keys;
  }

  std::string folder_;
  FakeClock clock_;
  FakeRandom random_;
};

TEST_F(LinkTableTest, TheFirstKeyIsMadeOnceOrTheConfiguredOne) {
  LinkTable table = Open();
  ASSERT_TRUE(*table.Prepare(Secret(), random_, clock_));
  const std::vector<std::string> made = Keys(table);
  ASSERT_EQ(made.size(), 1u);
  EXPECT_EQ(made[0].size(), 32u);
  ASSERT_TRUE(*table.Prepare(Secret(), random_, clock_));
  EXPECT_EQ(Keys(table), made);
  // Given later, and only then again and again.
  ASSERT_TRUE(*table.Prepare(Secret("configured"), random_, clock_));
  ASSERT_TRUE(*table.Prepare(Secret("configured"), random_, clock_));
  EXPECT_EQ(Keys(table), (std::vector<std::string>{"configured", made[0]}));
}

TEST_F(LinkTableTest, AfterARotationTheConfiguredKeySignsNoMore) {
  LinkTable table = Open();
  ASSERT_TRUE(*table.Prepare(Secret("configured"), random_, clock_));
  ASSERT_EQ(table.Rotate(absl::Hours(1), random_, clock_), absl::OkStatus());
  ASSERT_TRUE(*table.Prepare(Secret("configured"), random_, clock_));
  EXPECT_FALSE(*table.Prepare(Secret("another"), random_, clock_));
  EXPECT_TRUE(*table.Prepare(Secret(), random_, clock_));
  const LinkSecrets secrets = *table.Load();
  ASSERT_EQ(secrets.keys.size(), 2u);
  EXPECT_NE(secrets.keys[0].secret.Reveal(), "configured");
  EXPECT_EQ(secrets.keys[0].ends, absl::InfiniteFuture());
  EXPECT_EQ(secrets.keys[1].ends, clock_.Now() + absl::Hours(1));
  // --now after one with an overlap: what was to end later ends now, too.
  ASSERT_EQ(table.Rotate(absl::ZeroDuration(), random_, clock_), absl::OkStatus());
  for (std::size_t i = 1; i < 3; ++i) EXPECT_EQ(table.Load()->keys[i].ends, clock_.Now()) << i;
}

TEST_F(LinkTableTest, RevocationsAreKeptAsLongAsTheyMatter) {
  LinkTable table = Open();
  ASSERT_TRUE(*table.Prepare(Secret(), random_, clock_));
  ASSERT_EQ(table.RevokeAllOf("key-1"), absl::OkStatus());
  ASSERT_EQ(table.RevokeAllOf("key-1"), absl::OkStatus());
  EXPECT_EQ(table.Load()->epochs.at("key-1"), 2);
  ASSERT_EQ(table.Revoke("one", clock_.Now() + absl::Hours(1), clock_), absl::OkStatus());
  EXPECT_TRUE(table.Load()->revoked.contains("one"));
  clock_.Advance(absl::Hours(2));
  ASSERT_EQ(table.Revoke("two", clock_.Now() + absl::Hours(1), clock_), absl::OkStatus());
  EXPECT_FALSE(table.Load()->revoked.contains("one"));
}

}  // namespace
}  // namespace sandkeep
