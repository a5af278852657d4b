// A folder's link in a browser, over real sockets, with an agent that a test scripts.

#include <algorithm>
#include <limits>

#include "common/limits.h"
#include "gateway/pages/folder.h"
#include "tests/unit/gateway/http/gateway_fixture.h"

namespace sandkeep {
namespace {

using testing::HasSubstr;
using testing::Not;

namespace v1 = agent::v1;

constexpr std::string_view kKey = "amber-otter-abcdefghijklmnop";
const std::string kGeneration(16, 'g');
// As Chromium sends it.
constexpr std::string_view kBrowser =
    "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,"
    "image/apng,*/*;q=0.8,application/signed-exchange;v=b3;q=0.7\r\n";

class FolderPageTest : public GatewayFixture {
 protected:
  FolderPageTest() {
    agent_.get_sandbox.AnswerAlways([this](const v1::GetSandboxRequest&) {
      v1::Sandbox sandbox;
      sandbox.set_key(std::string(kKey));
      sandbox.set_generation(generation_);
      sandbox.set_principal(principal_);
      return sandbox;
    });
    agent_.stat_file.AnswerAlways([this](const v1::StatFileRequest&) {
      v1::FileInfo info;
      info.set_type(type_);
      info.set_generation(generation_);
      return info;
    });
    // As the agent does it: by name, from behind `after`, and truncated where it looks no further.
    agent_.list_files.AnswerAlways([this](const v1::ListFilesRequest& request) {
      v1::ListFilesResponse listed;
      for (const v1::FileInfo& file : files_) {
        if (file.path() <= request.after()) continue;
        if (listed.files_size() == request.limit()) {
          listed.set_truncated(true);
          break;
        }
        *listed.add_files() = file;
      }
      listed.set_truncated(listed.truncated() || looks_no_further_);
      return listed;
    });
  }

  void Put(std::string path, v1::FileInfo::Type type = v1::FileInfo::REGULAR,
           std::int64_t size = 10) {
    v1::FileInfo& info = files_.emplace_back();
    info.set_path(std::move(path));
    info.set_type(type);
    info.set_size(size);
    info.set_modified_ms(1'700'000'000'000);
    std::sort(files_.begin(), files_.end(),
              [](const auto& a, const auto& b) { return a.path() < b.path(); });
  }
  std::string Link(std::string_view path = "d",
                   mcp::ArchiveFormat format = mcp::ArchiveFormat::kZip) {
    return links_.MakeForFolder(
        "", {.principal = principal_, .key = kKey, .generation = kGeneration}, path, format);
  }
  std::string Page(const std::string& link) { return Ask(Get(link, kBrowser)); }
  std::string TypeOf(const std::string& answer) {
    const std::size_t at = answer.find("Content-Type: ") + 14;
    return answer.substr(at, answer.find("\r\n", at) - at);
  }
  // Where the page leads, in its order, as the server sees it.
  std::vector<std::string> Targets(const std::string& page) {
    std::vector<std::string> found;
    const std::string before = StrCat("href=\"http://", Host());
    for (std::size_t at = page.find(before); at != std::string::npos; at = page.find(before, at)) {
      at += before.size();
      found.push_back(page.substr(at, page.find('"', at) - at));
    }
    return found;
  }

  std::string generation_ = kGeneration;
  v1::FileInfo::Type type_ = v1::FileInfo::DIRECTORY;
  std::vector<v1::FileInfo> files_;
  bool looks_no_further_ = false;
};

TEST_F(FolderPageTest, ABrowserGetsAPageAndEverythingElseTheArchiveAsBefore) {
  StartServer();
  Put("d/a");
  const std::string link = Link();
  for (const std::string_view method : {"GET", "HEAD"}) {
    EXPECT_EQ(TypeOf(Ask(Get(link, kBrowser, method))), "text/html; charset=utf-8") << method;
  }
  for (const char* accept : {"", "Accept: */*\r\n", "Accept: application/zip\r\n"}) {
    const std::string answer = Ask(Get(link, accept, "HEAD"));
    EXPECT_EQ(TypeOf(answer), "application/zip") << accept;
    EXPECT_THAT(answer, HasSubstr("Vary: Accept\r\n")) << accept;
    EXPECT_THAT(answer, HasSubstr("attachment; filename=\"d.zip\"")) << accept;
  }
  const std::string page = Page(link);
  EXPECT_THAT(page, HasSubstr("Vary: Accept\r\n"));
  EXPECT_THAT(page, HasSubstr("Cache-Control: private, no-store\r\n"));
  EXPECT_EQ(RawClient::BodyOf(Ask(Get(link, kBrowser, "HEAD"))), "");
}

TEST_F(FolderPageTest, TheArchivesOwnFormGivesItToABrowserToo) {
  StartServer();
  Put("d/a");
  for (const char* query :
       {"?download", "?download=1", "?utm_source=chat&download", "?a&download="}) {
    EXPECT_EQ(TypeOf(Ask(Get(Link() + query, kBrowser, "HEAD"))), "application/zip") << query;
  }
  for (const char* query : {"?utm_source=chat", "?downloads", "?x=download", "?"}) {
    EXPECT_EQ(TypeOf(Ask(Get(Link() + query, kBrowser, "HEAD"))), "text/html; charset=utf-8")
        << query;
  }
  const std::string page = Page(Link());
  EXPECT_THAT(page, HasSubstr("href=\"?download\">Download all (.zip)</a>"));
  const std::vector<std::string> targets = Targets(page);
  ASSERT_EQ(targets.size(), 2u);
  EXPECT_THAT(targets[0], testing::EndsWith("/d.tar?download"));
  EXPECT_EQ(TypeOf(Ask(Get(targets[0], kBrowser, "HEAD"))), "application/x-tar");
  EXPECT_THAT(Page(Link("d", mcp::ArchiveFormat::kTar)), HasSubstr("Download all (.tar)</a>"));
}

TEST_F(FolderPageTest, NothingOnItCanActAndNobodyFramesIt) {
  StartServer();
  Put("d/<script>alert(1)");
  Put("d/\"><img src=x onerror=alert(1)>");
  const std::string page = Page(Link());
  for (const char* header :
       {"Content-Security-Policy: default-src 'none'; style-src 'sha256-",
        "; form-action 'none'; base-uri 'none'; frame-ancestors 'none'\r\n",
        "X-Content-Type-Options: nosniff\r\n", "Referrer-Policy: no-referrer\r\n",
        "X-Frame-Options: DENY\r\n", "Cross-Origin-Resource-Policy: same-origin\r\n"}) {
    EXPECT_THAT(page, HasSubstr(header));
  }
  EXPECT_THAT(page, Not(HasSubstr("<script")));
  EXPECT_THAT(page, Not(HasSubstr("<img")));
  EXPECT_THAT(page, HasSubstr("&lt;script&gt;alert(1)</bdi>"));
}

TEST_F(FolderPageTest, EachEntryIsLinkedByALinkThatWorksWhateverItsName) {
  StartServer();
  const std::vector<std::string> names = {
      "100% %41 a+b;c", "it's \"quoted\" & <b>",  "new\nline", "back\\slash", "Übersicht 琥珀",
      "caf\xE9",        "rtl\xE2\x80\xAEgpj.bin", " ",         "?download",   "#top"};
  for (const std::string& name : names) Put("d/" + name);
  agent_.stat_file.AnswerAlways([](const v1::StatFileRequest& request) {
    v1::FileInfo info;
    info.set_generation(kGeneration);
    info.set_type(request.path() == "d" ? v1::FileInfo::DIRECTORY : v1::FileInfo::REGULAR);
    info.set_path(request.path());
    info.set_etag("tag");
    return info;
  });
  const std::vector<std::string> targets = Targets(Page(Link()));
  ASSERT_EQ(targets.size(), names.size() + 1);
  std::vector<std::string> reached;
  for (std::size_t i = 1; i < targets.size(); ++i) {
    EXPECT_EQ(StatusOf(Get(targets[i], kBrowser, "HEAD")), 200) << targets[i];
    reached.push_back(agent_.stat_file.requests().back().path());
  }
  std::vector<std::string> expected;
  expected.reserve(names.size());
  for (const std::string& name : names) expected.push_back("d/" + name);
  EXPECT_THAT(reached, testing::UnorderedElementsAreArray(expected));
}

TEST_F(FolderPageTest, SparseFilesOfAnySizeHaveASum) {
  StartServer();
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  Put("d/a", v1::FileInfo::REGULAR, kMost);
  Put("d/b", v1::FileInfo::REGULAR, kMost);
  EXPECT_THAT(Page(Link()), HasSubstr("2 files of 9"));
}

TEST_F(FolderPageTest, WhatIsNoFileIsShownWithoutALinkAndSaysWhy) {
  StartServer();
  Put("d/to-passwd", v1::FileInfo::OTHER);
  Put("d/" + std::string(252, 'n'), v1::FileInfo::DIRECTORY);
  const std::string page = Page(Link());
  EXPECT_THAT(page,
              HasSubstr("to-passwd</bdi></span> <span class=\"soft size\">Link or device, not"));
  EXPECT_THAT(page, HasSubstr("nnn</bdi></span> <span class=\"soft size\">Folder, name too long"));
  EXPECT_EQ(Targets(page).size(), 1u);
}

TEST_F(FolderPageTest, FoldersStandFirstThenFilesByName) {
  StartServer();
  Put("d/Zebra.txt");
  Put("d/apple.txt");
  Put("d/b", v1::FileInfo::DIRECTORY);
  Put("d/A", v1::FileInfo::DIRECTORY);
  const std::string page = Page(Link());
  std::vector<std::size_t> at;
  for (const char* name : {">A</bdi>", ">b</bdi>", ">apple.txt</bdi>", ">Zebra.txt</bdi>"}) {
    at.push_back(page.find(name));
  }
  EXPECT_TRUE(std::is_sorted(at.begin(), at.end()));
  EXPECT_NE(at.back(), std::string::npos);
  EXPECT_THAT(page, HasSubstr("2 folders, 2 files of 20 bytes"));
  EXPECT_THAT(page, HasSubstr("datetime=\"2023-11-14T22:13Z\">2023-11-14 22:13 UTC</time>"));
}

TEST_F(FolderPageTest, AFolderBelowHasAPageOfItsOwnForAsLong) {
  StartServer();
  Put("d/sub", v1::FileInfo::DIRECTORY);
  const std::string below = Targets(Page(Link()))[1];
  EXPECT_THAT(below, testing::EndsWith("/d/sub.zip"));
  clock_.Advance(absl::Seconds(3599));
  Put("d/sub/f");
  EXPECT_EQ(RawClient::StatusOf(Page(below)), 200);
  EXPECT_EQ(agent_.list_files.requests().back().path(), "d/sub");
  clock_.Advance(absl::Seconds(1));
  const std::string ended = Page(below);
  EXPECT_EQ(RawClient::StatusOf(ended), 410);
  EXPECT_THAT(ended, HasSubstr("Ask in the chat"));
}

TEST_F(FolderPageTest, TheWorkspaceItselfHasAPage) {
  StartServer();
  Put("a");
  const std::string page = Page(Link(""));
  EXPECT_THAT(page, HasSubstr("<h1><bdi dir=\"ltr\">workspace</bdi></h1>"));
  EXPECT_THAT(Targets(page)[1], testing::EndsWith("/a"));
}

TEST_F(FolderPageTest, MoreThanFitsIsCountedAndSaid) {
  StartServer();
  for (int i = 0; i < kMaxListedFiles + 300; ++i) Put(StrCat("d/", 10'000 + i));
  Put("d/zzz", v1::FileInfo::DIRECTORY);
  std::string page = Page(Link());
  EXPECT_THAT(page, HasSubstr("Not shown: 301 others."));
  EXPECT_THAT(page, HasSubstr("1 folder, 1300 files of 13.0 kB"));
  EXPECT_THAT(page, HasSubstr("zzz</bdi>")) << "a folder that comes last by name is there";
  EXPECT_EQ(Targets(page).size(), static_cast<std::size_t>(kMaxListedFiles) + 1);
  looks_no_further_ = true;
  page = Page(Link());
  EXPECT_THAT(page, HasSubstr("Not shown: more than 301 others."));
  EXPECT_THAT(page, HasSubstr("More than 1 folder, 1300 files"));
  files_.resize(1);
  EXPECT_THAT(Page(Link()), HasSubstr("Not all is shown: some paths are too long for a link."));
}

TEST_F(FolderPageTest, NamesOfTheLongestKindMakeNoPageOfTensOfMegabytes) {
  StartServer();
  const std::string deep = "d/" + std::string(255, '\n') + "/" + std::string(251, '"');
  for (int i = 0; i < kMaxListedFiles; ++i) {
    std::string name(255, '<');
    name.replace(0, 4, StrCat(1000 + i));
    Put(StrCat(deep, "/", name));
  }
  const std::string page = Page(Link(deep));
  EXPECT_EQ(RawClient::StatusOf(page), 200);
  EXPECT_LT(page.size(), 2u << 20);
  EXPECT_THAT(page, HasSubstr("Not shown: "));
}

TEST_F(FolderPageTest, AnEmptyFolderSaysSo) {
  StartServer();
  const std::string page = Page(Link());
  EXPECT_THAT(page, HasSubstr("This folder is empty."));
  EXPECT_THAT(page, Not(HasSubstr("Download all")));
}

TEST_F(FolderPageTest, WhatIsWrongIsTheSame404ThatEveryLinkGets) {
  StartServer();
  Put("d/a");
  const auto without_date = [](std::string answer) {
    answer.erase(answer.find("Date: "), std::string("Date: Sun, 29 Nov 2026 19:23:55 GMT").size());
    return answer;
  };
  const std::string expected = without_date(Ask(Get("/dl/")));
  std::string altered = Link();
  altered[altered.find('/', 4) + 1] ^= 1;
  EXPECT_EQ(without_date(Page(altered)), expected);
  EXPECT_TRUE(agent_.list_files.requests().empty()) << "listed by a wrong link";
  type_ = v1::FileInfo::REGULAR;
  EXPECT_EQ(without_date(Page(Link())), expected) << "a file by now";
  type_ = v1::FileInfo::DIRECTORY;
  agent_.stat_file.Fail(absl::NotFoundError("gone"));
  EXPECT_EQ(without_date(Page(Link())), expected);
}

// The sandbox was removed with its files, and its label taken up again, while the folder was read.
TEST_F(FolderPageTest, AVolumeThatIsReplacedMeanwhileShowsNoneOfItsNames) {
  StartServer();
  Put("d/of-the-next-owner");
  const std::string link = Link();
  agent_.list_files.AnswerAlways([this](const v1::ListFilesRequest&) {
    generation_ = std::string(16, 'h');
    v1::ListFilesResponse listed;
    *listed.add_files() = files_[0];
    return listed;
  });
  const std::string page = Page(link);
  EXPECT_EQ(RawClient::StatusOf(page), 404);
  EXPECT_THAT(page, Not(HasSubstr("next-owner")));
  generation_ = kGeneration;
  agent_.stat_file.AnswerAlways([](const v1::StatFileRequest&) {
    v1::FileInfo info;
    info.set_type(v1::FileInfo::DIRECTORY);
    info.set_generation(std::string(16, 'h'));
    return info;
  });
  EXPECT_EQ(StatusOf(Get(link)), 404) << "nor the archive any of its files";
}

TEST_F(FolderPageTest, AnAgentThatIsAwayIsA503) {
  StartServer();
  Put("d/a");
  agent_.list_files.Fail(absl::UnavailableError("away"));
  EXPECT_EQ(RawClient::StatusOf(Page(Link())), 503);
  EXPECT_EQ(RawClient::StatusOf(Page(Link())), 200);
}

TEST_F(FolderPageTest, APreviewThatIsFetchedAHundredTimesCostsTheLinkNothing) {
  StartServer();
  Put("d/a");
  const std::string link = Link();
  const std::string first = RawClient::BodyOf(Page(link));
  for (int i = 0; i < 100; ++i) ASSERT_EQ(RawClient::BodyOf(Page(link)), first) << i;
  EXPECT_THAT(first, HasSubstr("<meta name=\"robots\" content=\"noindex, nofollow\">"));
  EXPECT_THAT(first, Not(HasSubstr("og:")));
}

}  // namespace
}  // namespace sandkeep
