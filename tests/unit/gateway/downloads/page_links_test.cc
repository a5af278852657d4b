// Links on a folder's page are never worth more, nor for longer, than the folder's own.

#include "gateway/downloads/page_links.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "common/strings.h"
#include "gateway/downloads/link.h"
#include "tests/fakes/fake_clock.h"

namespace sandkeep {
namespace {

using std::chrono::seconds;

constexpr std::string_view kBase = "https://sandbox.example.com";
constexpr std::string_view kPrincipal = "key-0123";
constexpr std::string_view kKey = "amber-otter-abcdefghijklmnop";
const std::string kGeneration(16, '\x42');

class PageLinksTest : public testing::Test {
 protected:
  PageLinksTest() { secrets_.keys.push_back({.secret = Secret("the first key")}); }

  LinkBook Book() const { return LinkBook(secrets_); }
  static LinkOwner Owner(std::string_view generation = kGeneration) {
    return {.principal = kPrincipal, .generation = generation};
  }
  static LinkClaim Claim(std::string_view link) {
    return *LinkClaim::Parse(link.substr(kBase.size() + std::string_view("/dl/").size()));
  }
  // As they are signed and judged with what is known at the moment.
  LinkClaim FolderLink(std::string_view path) {
    const LinkBook book = Book();
    LinkSigner signer(book, LinkLifetimes(seconds(3600)), clock_);
    return Claim(signer.MakeForFolder(
        kBase, {.principal = kPrincipal, .key = kKey, .generation = kGeneration}, path,
        mcp::ArchiveFormat::kZip));
  }
  std::optional<PageLinks> Below(const LinkClaim& claim) {
    const LinkBook book = Book();
    return LinkSigner(book, LinkLifetimes(seconds(3600)), clock_).LinksBelow(kBase, claim, Owner());
  }
  LinkVerdict JudgeFile(const LinkClaim& claim, std::string_view generation = kGeneration) {
    const LinkBook book = Book();
    return LinkSigner(book, LinkLifetimes(seconds(3600)), clock_).Judge(claim, Owner(generation));
  }
  LinkVerdict JudgeFolder(const LinkClaim& claim) {
    const LinkBook book = Book();
    return LinkSigner(book, LinkLifetimes(seconds(3600)), clock_).JudgeForFolder(claim, Owner());
  }

  LinkSecrets secrets_;
  FakeClock clock_;
};

TEST_F(PageLinksTest, EachLeadsToItsOwnThingAndToNothingElse) {
  const PageLinks links = *Below(FolderLink("d"));
  const std::string file = *links.ToFile("d/größe (2)\n.txt");
  EXPECT_EQ(file.find_first_of(" \t\r\n\"<>()[]"), std::string::npos) << file;
  const LinkClaim claim = Claim(file);
  EXPECT_EQ(claim.path.bytes(), "d/größe (2)\n.txt");
  EXPECT_EQ(JudgeFile(claim), LinkVerdict::kGood);
  EXPECT_EQ(JudgeFolder(claim), LinkVerdict::kWrong);
  const LinkClaim folder = Claim(*links.ToFolder("d/sub", mcp::ArchiveFormat::kTar));
  EXPECT_EQ(folder.folder()->path, "d/sub");
  EXPECT_EQ(JudgeFolder(folder), LinkVerdict::kGood);
  EXPECT_EQ(JudgeFile(folder), LinkVerdict::kWrong);
  EXPECT_EQ(JudgeFile(claim, std::string(16, '\x43')), LinkVerdict::kWrong);
  EXPECT_EQ(JudgeFile(Claim(*links.ToFile("d/caf\xE9"))), LinkVerdict::kGood) << "not UTF-8";
}

TEST_F(PageLinksTest, ALinkOfOneSecondLaterStillEndsWithTheFolders) {
  const LinkClaim folder = FolderLink("d");
  clock_.Advance(absl::Seconds(3599));
  const LinkClaim file = Claim(*Below(folder)->ToFile("d/f"));
  const LinkClaim below = Claim(*Below(folder)->ToFolder("d/sub", mcp::ArchiveFormat::kZip));
  const LinkClaim deeper = Claim(*Below(below)->ToFile("d/sub/f"));
  EXPECT_EQ(JudgeFile(file), LinkVerdict::kGood);
  EXPECT_EQ(JudgeFile(deeper), LinkVerdict::kGood);
  clock_.Advance(absl::Seconds(1));
  EXPECT_EQ(JudgeFile(file), LinkVerdict::kExpired);
  EXPECT_EQ(JudgeFile(deeper), LinkVerdict::kExpired);
}

TEST_F(PageLinksTest, AnAddressThatNobodyAnswersIsNoLink) {
  std::string plain = "d";
  while (plain.size() < 3000) plain += "/" + std::string(200, 'a');
  EXPECT_TRUE(Below(FolderLink("d"))->ToFile(plain).has_value());
  std::string other = plain;
  std::replace(other.begin(), other.end(), 'a', '\xE9');
  EXPECT_FALSE(Below(FolderLink("d"))->ToFile(other).has_value()) << "three bytes for each";
}

TEST_F(PageLinksTest, NoBitOfItMayDiffer) {
  const std::string link = *Below(FolderLink("d"))->ToFile("d/f");
  const std::string rest = link.substr(kBase.size() + std::string_view("/dl/").size());
  for (std::size_t bit = 0; bit < rest.size() * 8; ++bit) {
    std::string altered = rest;
    altered[bit / 8] = static_cast<char>(altered[bit / 8] ^ (1 << bit % 8));
    const auto claim = LinkClaim::Parse(altered);
    EXPECT_TRUE(!claim.has_value() || JudgeFile(*claim) == LinkVerdict::kWrong) << altered;
  }
  // Without the mark, or with another one, so that its folder's end would be none of its.
  LinkClaim without = Claim(link);
  without.parent.clear();
  EXPECT_EQ(JudgeFile(without), LinkVerdict::kWrong);
}

TEST_F(PageLinksTest, RevokingAFoldersLinkEndsAllThatItsPageGaveOut) {
  const LinkClaim folder = FolderLink("d");
  const LinkClaim file = Claim(*Below(folder)->ToFile("d/f"));
  const LinkClaim other = Claim(*Below(folder)->ToFile("d/g"));
  const LinkClaim below = Claim(*Below(folder)->ToFolder("d/sub", mcp::ArchiveFormat::kZip));
  const LinkClaim deeper = Claim(*Below(below)->ToFile("d/sub/f"));
  const LinkClaim elsewhere = Claim(*Below(FolderLink("e"))->ToFile("e/f"));
  secrets_.revoked.insert(file.signature);
  EXPECT_EQ(JudgeFile(file), LinkVerdict::kWrong);
  EXPECT_EQ(JudgeFile(other), LinkVerdict::kGood);
  secrets_.revoked.insert(folder.signature);
  for (const LinkClaim& ended : {file, other, deeper}) {
    EXPECT_EQ(JudgeFile(ended), LinkVerdict::kWrong) << ended.path.bytes();
  }
  EXPECT_EQ(JudgeFolder(below), LinkVerdict::kWrong);
  EXPECT_EQ(JudgeFile(elsewhere), LinkVerdict::kGood);
}

TEST_F(PageLinksTest, RevokingAllOfAPrincipalsEndsThem) {
  const LinkClaim file = Claim(*Below(FolderLink("d"))->ToFile("d/f"));
  secrets_.epochs.emplace(kPrincipal, 1);
  EXPECT_EQ(JudgeFile(file), LinkVerdict::kWrong);
  EXPECT_EQ(JudgeFile(Claim(*Below(FolderLink("d"))->ToFile("d/f"))), LinkVerdict::kGood);
}

TEST_F(PageLinksTest, ARotationsOverlapIsNotOutlivedByLookingAtThePage) {
  const LinkClaim folder = FolderLink("d");
  secrets_.keys.insert(secrets_.keys.begin(), {.secret = Secret("the next key")});
  secrets_.keys[1].ends = clock_.Now() + absl::Seconds(60);
  const LinkClaim file = Claim(*Below(folder)->ToFile("d/f"));
  EXPECT_EQ(JudgeFile(file), LinkVerdict::kGood);
  clock_.Advance(absl::Seconds(60));
  EXPECT_EQ(JudgeFile(file), LinkVerdict::kWrong);
  EXPECT_FALSE(Below(folder).has_value());
}

TEST_F(PageLinksTest, TheFoldersOwnLinkCannotBeToldFromOneOnItsPage) {
  const LinkClaim folder = FolderLink("d");
  const std::string file = *Below(folder)->ToFile("d/f");
  for (std::size_t size = 4; size <= folder.signature.size(); ++size) {
    for (std::size_t at = 0; at + size <= folder.signature.size(); ++at) {
      const std::string part = folder.signature.substr(at, size);
      EXPECT_EQ(Claim(file).parent.find(part), std::string::npos);
      EXPECT_EQ(Claim(file).signature.find(part), std::string::npos);
    }
  }
}

TEST_F(PageLinksTest, AFolderWhoseNameLeavesNoRoomForAnEndingHasNone) {
  const PageLinks links = *Below(FolderLink(""));
  EXPECT_TRUE(links.ToFolder(std::string(251, 'a'), mcp::ArchiveFormat::kZip).has_value());
  EXPECT_FALSE(links.ToFolder(std::string(252, 'a'), mcp::ArchiveFormat::kZip).has_value());
  EXPECT_TRUE(links.ToFile(std::string(255, 'a')).has_value());
}

TEST_F(PageLinksTest, AnOriginOfTheirOwnIsWhereTheyLead) {
  const LinkClaim folder = FolderLink("d");
  const LinkBook book = Book();
  const LinkSigner elsewhere(book, LinkLifetimes(seconds(3600)), clock_,
                             "https://files.example.com");
  const std::string link = *elsewhere.LinksBelow(kBase, folder, Owner())->ToFile("d/f");
  EXPECT_EQ(link.substr(0, 29), "https://files.example.com/dl/");
}

}  // namespace
}  // namespace sandkeep
