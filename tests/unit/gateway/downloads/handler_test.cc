// Files by link over real sockets, with an agent that a test scripts.

#include "gateway/downloads/handler.h"

#include <thread>

#include "common/limits.h"
#include "tests/unit/gateway/http/gateway_fixture.h"

namespace sandkeep {
namespace {

using testing::HasSubstr;

constexpr std::string_view kKey = "amber-otter-abcdefghijklmnop";
const std::string kGeneration(16, 'g');

class DownloadTest : public GatewayFixture {
 protected:
  DownloadTest() {
    agent_.get_sandbox.AnswerAlways(
        [this](const agent::v1::GetSandboxRequest& request) -> absl::StatusOr<agent::v1::Sandbox> {
          if (request.sandbox().key() != kKey) return absl::NotFoundError("no such sandbox");
          agent::v1::Sandbox sandbox;
          sandbox.set_key(std::string(kKey));
          sandbox.set_generation(generation_);
          sandbox.set_principal(principal_);
          return sandbox;
        });
    agent_.stat_file.AnswerAlways(
        [this](const agent::v1::StatFileRequest&) -> absl::StatusOr<agent::v1::FileInfo> {
          return info_;
        });
    agent_.read_file.OpenAlways(
        [this](const agent::v1::ReadFileRequest& request) { return Stream(request); });
    SetContent("0123456789");
    info_.set_type(agent::v1::FileInfo::REGULAR);
    info_.set_etag("tag");
    info_.set_generation(kGeneration);
    info_.set_modified_ms(1'700'000'000'000);
  }

  void SetContent(std::string content) {
    content_ = std::move(content);
    info_.set_size(static_cast<std::int64_t>(content_.size()));
  }

  std::shared_ptr<FakeStream<agent::v1::FileChunk>> Stream(
      const agent::v1::ReadFileRequest& request) {
    auto stream = std::make_shared<FakeStream<agent::v1::FileChunk>>();
    std::string_view rest = std::string_view(content_).substr(request.offset(), request.length());
    agent::v1::FileChunk chunk;
    *chunk.mutable_info() = info_;
    while (!rest.empty()) {
      chunk.set_data(std::string(rest.substr(0, 4)));
      rest.remove_prefix(std::min<std::size_t>(rest.size(), 4));
      stream->Send(chunk);
    }
    stream->End();
    return stream;
  }

  std::string Link(std::string_view path = "report.txt") { return links_.Make("", Target(), path); }
  mcp::LinkTarget Target(std::string_view generation = kGeneration) const {
    return {.principal = principal_, .key = kKey, .generation = generation};
  }
  // The file's ETag, as this link gives it out.
  std::string EtagOf(const std::string& link) {
    const std::string head = Ask(Get(link, "", "HEAD"));
    const std::size_t at = head.find("ETag: ") + 6;
    return head.substr(at, head.find("\r\n", at) - at);
  }

  std::string generation_ = kGeneration;
  std::string content_;
  agent::v1::FileInfo info_;
};

TEST_F(DownloadTest, TheWholeFileWithItsHeaders) {
  StartServer();
  const std::string answer = Ask(Get(Link()));
  EXPECT_EQ(RawClient::StatusOf(answer), 200);
  EXPECT_EQ(RawClient::BodyOf(answer), "0123456789");
  for (const char* header :
       {"Content-Type: text/plain; charset=utf-8\r\n", "Content-Length: 10\r\n",
        "Content-Disposition: inline; filename=\"report.txt\"\r\n", "ETag: \"tag.",
        "Last-Modified: Tue, 14 Nov 2023 22:13:20 GMT\r\n", "Accept-Ranges: bytes\r\n",
        "X-Content-Type-Options: nosniff\r\n", "sandbox", "Referrer-Policy: no-referrer\r\n",
        "Cross-Origin-Resource-Policy: same-origin\r\n", "Cache-Control: private, no-cache\r\n"}) {
    EXPECT_THAT(answer, HasSubstr(header));
  }
}

TEST_F(DownloadTest, ARemovedPrincipalsLinksEndWithinASecond) {
  StartServer();
  const std::string request = Get(Link());
  ASSERT_EQ(StatusOf(request), 200);
  KeyTable table(*OpenGatewayDatabase(folder_));

  ASSERT_TRUE(table.RemoveDevice("ann", "key1").ok());
  const auto removed = std::chrono::steady_clock::now();
  while (keys_->Find(key_).has_value()) std::this_thread::yield();
  EXPECT_EQ(StatusOf(request), 200) << "the principal is still there";

  ASSERT_TRUE(table.Remove("ann", clock_).ok());
  while (keys_->HasPrincipal(principal_)) std::this_thread::yield();
  EXPECT_EQ(StatusOf(request), 404);
  EXPECT_LT(std::chrono::steady_clock::now() - removed, std::chrono::seconds(2));
}

TEST_F(DownloadTest, HeadRangeAndConditions) {
  StartServer();
  const std::string link = Link();
  const std::string head = Ask(Get(link, "", "HEAD"));
  EXPECT_EQ(RawClient::StatusOf(head), 200);
  EXPECT_THAT(head, HasSubstr("Content-Length: 10\r\n"));
  EXPECT_EQ(agent_.read_file.requests().size(), 0u) << "a HEAD reads nothing";

  const std::string part = Ask(Get(link, "Range: bytes=2-5\r\n"));
  EXPECT_EQ(RawClient::StatusOf(part), 206);
  EXPECT_EQ(RawClient::BodyOf(part), "2345");
  EXPECT_THAT(part, HasSubstr("Content-Range: bytes 2-5/10\r\n"));
  EXPECT_EQ(RawClient::BodyOf(Ask(Get(link, "Range: bytes=-1\r\n"))), "9");
  const std::string beyond = Ask(Get(link, "Range: bytes=10-\r\n"));
  EXPECT_EQ(RawClient::StatusOf(beyond), 416);
  EXPECT_THAT(beyond, HasSubstr("Content-Range: bytes */10\r\n"));
  const std::string etag = EtagOf(link);
  EXPECT_EQ(StatusOf(Get(link, StrCat("Range: bytes=2-5\r\nIf-Range: ", etag, "\r\n"))), 206);
  EXPECT_EQ(StatusOf(Get(link, "Range: bytes=2-5\r\nIf-Range: \"old\"\r\n")), 200);

  EXPECT_EQ(StatusOf(Get(link, StrCat("If-None-Match: \"old\", W/", etag, "\r\n"))), 304);
  EXPECT_EQ(StatusOf(Get(link, "If-None-Match: *\r\n")), 304);
  EXPECT_EQ(StatusOf(Get(link, "If-None-Match: \"old\"\r\n")), 200);
  EXPECT_EQ(StatusOf(Get(link, "If-Modified-Since: Tue, 14 Nov 2023 22:13:20 GMT\r\n")), 304);
}

TEST_F(DownloadTest, ADownloadThatBeganInTimeMayBeFinishedAndNothingElse) {
  StartServer();
  const std::string link = Link();
  const std::string etag = EtagOf(link);
  const std::string rest = StrCat("Range: bytes=4-\r\nIf-Range: ", etag, "\r\n");
  clock_.Advance(absl::Seconds(3600));
  EXPECT_EQ(RawClient::BodyOf(Ask(Get(link, rest))), "456789");
  // None of these shows that it began before.
  for (const std::string& more :
       {std::string(), std::string("Range: bytes=4-\r\n"), StrCat("If-Range: ", etag, "\r\n"),
        std::string("Range: bytes=4-\r\nIf-Range: \"tag\"\r\n"),
        std::string("Range: bytes=4-\r\nIf-Range: Tue, 14 Nov 2023 22:13:20 GMT\r\n"),
        StrCat("If-None-Match: ", etag, "\r\n")}) {
    EXPECT_EQ(StatusOf(Get(link, more)), 410) << more;
  }
  info_.set_etag("another");
  EXPECT_EQ(StatusOf(Get(link, rest)), 410) << "the file is another by now";
  info_.set_etag("tag");
  agent_.stat_file.Fail(absl::NotFoundError("gone"));
  EXPECT_EQ(StatusOf(Get(link, rest)), 410) << "and says nothing of what is there";
  clock_.Advance(absl::FromChrono(kResumeGrace));
  EXPECT_EQ(StatusOf(Get(link, rest)), 410);
}

TEST_F(DownloadTest, TheConnectionGoesOnAfterEachKindOfAnswer) {
  StartServer();
  RawClient client = Connect();
  const std::string link = Link();
  EXPECT_EQ(RawClient::StatusOf(client.Send(Get(link)).Answer()), 200);
  EXPECT_EQ(RawClient::StatusOf(client.Send(Get(link, "", "HEAD")).Answer(true)), 200);
  EXPECT_EQ(RawClient::StatusOf(client.Send(Get(link, "If-None-Match: *\r\n")).Answer()), 304);
  EXPECT_EQ(RawClient::StatusOf(client.Send(Get(link, "Range: bytes=1-1\r\n")).Answer()), 206);
  EXPECT_EQ(RawClient::StatusOf(client.Send(Get("/dl/x")).Answer()), 404);
  SetContent("");
  EXPECT_EQ(RawClient::StatusOf(client.Send(Get(link)).Answer()), 200);
  EXPECT_EQ(RawClient::StatusOf(client.Send(Get("/healthz")).Answer()), 200);
}

TEST_F(DownloadTest, EveryWrongLinkGetsTheSame404AndNeverAFile) {
  StartServer();
  const auto without_date = [](std::string answer) {
    answer.erase(answer.find("Date: "), std::string("Date: Sun, 29 Nov 2026 19:23:55 GMT").size());
    return answer;
  };
  const std::string link = Link();
  std::string altered = link;
  altered[link.find('/', 4) + 1] ^= 1;
  std::string other_key = link;
  other_key[link.find("amber")] = 'b';
  const std::string expected = without_date(Ask(Get("/dl/")));
  EXPECT_EQ(RawClient::StatusOf(expected), 404);
  for (const std::string& wrong : {altered, other_key, std::string("/dl/1/2/3"), link + "x",
                                   links_.Make("", Target(std::string(16, 'h')), "report.txt")}) {
    EXPECT_EQ(without_date(Ask(Get(wrong))), expected) << wrong;
  }
  EXPECT_TRUE(agent_.stat_file.requests().empty()) << "asked for a file by a wrong link";
  agent_.stat_file.Fail(absl::NotFoundError("no such file"));
  EXPECT_EQ(without_date(Ask(Get(link))), expected);
  info_.set_type(agent::v1::FileInfo::DIRECTORY);
  EXPECT_EQ(without_date(Ask(Get(link))), expected);
}

// It isn't asked whose the sandbox is for each of a hundred pictures, and no new files are served
// by what it remembers.
TEST_F(DownloadTest, AForgottenAndReusedLabelNeverServesNewFilesByAnOldLink) {
  StartServer();
  const std::string link = Link();
  EXPECT_EQ(StatusOf(Get(link)), 200);
  EXPECT_EQ(StatusOf(Get(link)), 200);
  EXPECT_EQ(agent_.get_sandbox.requests().size(), 1u);
  generation_ = std::string(16, 'h');
  info_.set_generation(generation_);
  for (const char* method : {"GET", "HEAD", "GET"}) {
    EXPECT_EQ(StatusOf(Get(link, "", method)), 404) << method;
  }
  EXPECT_EQ(agent_.read_file.requests().size(), 2u);
  EXPECT_EQ(StatusOf(Get(links_.Make("", Target(generation_), "report.txt"))), 200);
  EXPECT_EQ(StatusOf(Get(link)), 404);
}

TEST_F(DownloadTest, WhatAChatLeavesAtTheEndOfALinkIsForgivenOnce) {
  StartServer();
  for (const char* tail : {")", ".", ","}) EXPECT_EQ(StatusOf(Get(Link() + tail)), 200) << tail;
  for (const char* tail : {").", "))", ";", "x"})
    EXPECT_EQ(StatusOf(Get(Link() + tail)), 404) << tail;
  EXPECT_EQ(StatusOf(Get(Link("ends with dot."))), 200);
}

TEST_F(DownloadTest, AnExpiredLinkIs410AndSaysWhatToDo) {
  StartServer();
  const std::string link = Link();
  clock_.Advance(absl::Seconds(3599));
  EXPECT_EQ(StatusOf(Get(link)), 200);
  clock_.Advance(absl::Seconds(1));
  const std::string answer = Ask(Get(link));
  EXPECT_EQ(RawClient::StatusOf(answer), 410);
  EXPECT_THAT(answer, HasSubstr("Ask in the chat"));
  EXPECT_EQ(StatusOf(Get(link + "x")), 404);
}

TEST_F(DownloadTest, HtmlIsSavedAndNamesInOtherScriptsKeepThem) {
  StartServer();
  EXPECT_THAT(Ask(Get(Link("page.html"))), HasSubstr("Content-Disposition: attachment; "));
  EXPECT_THAT(Ask(Get(Link("a/报告.txt"))), HasSubstr("filename*=UTF-8''%E6%8A%A5%E5%91%8A.txt"));
  EXPECT_EQ(agent_.stat_file.requests().back().path(), "a/报告.txt");
}

TEST_F(DownloadTest, AFileThatShrinksCutsTheConnection) {
  StartServer();
  info_.set_size(20);
  RawClient client = Connect();
  const std::string all = client.Send(Get(Link())).UntilClosed();
  EXPECT_THAT(all, HasSubstr("Content-Length: 20\r\n"));
  EXPECT_EQ(RawClient::BodyOf(all), "0123456789");
}

// What cuts the archive has no directory at its end; what is left out leaves the rest whole.
TEST_F(DownloadTest, AnArchiveIsWholeOrCut) {
  StartServer();
  agent::v1::FileInfo folder;
  folder.set_type(agent::v1::FileInfo::DIRECTORY);
  folder.set_generation(kGeneration);
  agent_.stat_file.AnswerAlways([folder](const auto&) { return folder; });
  agent::v1::ListFilesResponse listed;
  *listed.add_files() = info_;
  listed.mutable_files(0)->set_path("d/a");
  agent::v1::ListFilesResponse searched;
  agent_.list_files.AnswerAlways([&](const agent::v1::ListFilesRequest& request) {
    return request.pattern().empty() ? listed : searched;
  });
  const auto archive = [&] {
    RawClient client = Connect();
    return client
        .Send(Get(links_.MakeForFolder("", Target(), "d", mcp::ArchiveFormat::kZip),
                  "Connection: close\r\n"))
        .UntilClosed();
  };
  const auto is_whole = [&] {
    const std::string all = archive();
    EXPECT_EQ(RawClient::StatusOf(all), 200);
    return all.find("PK\x05\x06") != std::string::npos;
  };
  EXPECT_TRUE(is_whole());
  for (const absl::Status& left_out :
       {absl::NotFoundError("gone"), absl::InvalidArgumentError("a symlink by now"),
        absl::PermissionDeniedError("not to be read")}) {
    agent_.read_file.Open()->Fail(left_out);
    EXPECT_TRUE(is_whole()) << left_out;
  }
  for (const absl::Status& failure :
       {absl::UnavailableError("away"), absl::ResourceExhaustedError("too many calls"),
        absl::InternalError("the disk"), absl::DeadlineExceededError("too slow")}) {
    agent_.read_file.Open()->Fail(failure);
    EXPECT_FALSE(is_whole()) << failure;
  }
  listed.mutable_files(0)->set_path("d/" + std::string(kMaxPathBytes - 2, 'a'));
  agent_.read_file.Open()->Fail(absl::InvalidArgumentError("a path has at most 4095 bytes"));
  EXPECT_FALSE(is_whole());
  // More than a search looks at, none of which comes after the last one: by now.
  listed.clear_files();
  listed.set_truncated(true);
  EXPECT_FALSE(is_whole());
  // Of another volume than the link's, or no longer of any.
  listed.set_truncated(false);
  *listed.add_files() = info_;
  listed.mutable_files(0)->set_path("d/a");
  EXPECT_TRUE(is_whole());
  info_.set_generation("of who has the label now");
  EXPECT_FALSE(is_whole());
  info_.set_generation(kGeneration);
  listed.clear_files();
  agent_.list_files.AnswerAlways([&](const agent::v1::ListFilesRequest& request) {
    if (request.pattern().empty()) agent_.stat_file.Fail(absl::NotFoundError("removed"));
    return listed;
  });
  EXPECT_FALSE(is_whole()) << "what was removed meanwhile is no empty folder";
  agent_.list_files.AnswerAlways([&](const agent::v1::ListFilesRequest& request) {
    return request.pattern().empty() ? listed : searched;
  });
  // More than that from the start.
  searched.set_truncated(true);
  EXPECT_EQ(RawClient::StatusOf(archive()), 413);
  EXPECT_THAT(archive(), HasSubstr("more than an archive can"));
  agent_.list_files.Fail(absl::UnavailableError("away"));
  EXPECT_EQ(RawClient::StatusOf(archive()), 503);
}

TEST_F(DownloadTest, AFileThatChangedMeanwhileIsNotServedAsTheOldOne) {
  StartServer();
  agent_.read_file.Open()->Fail(absl::AbortedError("another file by now"));
  EXPECT_EQ(StatusOf(Get(Link())), 412);
  EXPECT_EQ(agent_.read_file.requests().back().if_etag(), "tag");
}

TEST_F(DownloadTest, AnAgentThatIsAwayIsA503) {
  StartServer();
  agent_.get_sandbox.Fail(absl::UnavailableError("away"));
  EXPECT_EQ(StatusOf(Get(Link())), 503);
  EXPECT_EQ(StatusOf(Get(Link())), 200);
}

TEST_F(DownloadTest, ASlowReaderStopsTheAgentInsteadOfFillingMemory) {
  const std::size_t chunks = 400;
  info_.set_size(static_cast<std::int64_t>(chunks * kMaxFileChunk));
  auto stream = agent_.read_file.Open();
  agent::v1::FileChunk chunk;
  chunk.set_data(std::string(kMaxFileChunk, 'x'));
  for (std::size_t i = 0; i < chunks; ++i) stream->Send(chunk);
  StartServer();
  RawClient client(server_->port(), 4096);
  client.Send(Get(Link()));
  client.Until("\r\n\r\n");
  // Nothing is pulled once the socket is full.
  int before = -1;
  while (before != stream->taken()) {
    before = stream->taken();
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  EXPECT_LT(before, 100);
  client.Close();
  while (!stream->abandoned()) std::this_thread::yield();
}

// ---- What a job printed ----

class OutputDownloadTest : public DownloadTest {
 protected:
  // A job that printed all of this.
  void Print(std::string all) {
    agent_.read_output.AnswerAlways(
        [all = std::move(all)](const agent::v1::ReadOutputRequest& request)
            -> absl::StatusOr<agent::v1::ReadOutputResponse> {
          if (request.sandbox().key() != kKey) return absl::NotFoundError("no such sandbox");
          agent::v1::ReadOutputResponse part;
          part.set_offset(request.offset());
          // Less than was asked for, as around a gap.
          part.set_data(all.substr(static_cast<std::size_t>(request.offset()), 100'000));
          part.mutable_job()->set_output_bytes(static_cast<std::int64_t>(all.size()));
          return part;
        });
  }
  std::string Link() {
    const std::string link = links_.MakeForJob("", Target(), job_, false);
    return link;
  }

  const JobId job_ = *JobId::FromHex("0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f");
};

TEST_F(OutputDownloadTest, AllOfItComesAsAnAttachment) {
  std::string all;
  for (int i = 0; i < 50'000; ++i) StrAppend(&all, "line ", i, "\n");
  Print(all);
  StartServer();
  RawClient client = Connect();
  client.Send(Get(Link(), "Connection: close\r\n"));
  const std::string answer = client.Until("0\r\n\r\n");
  EXPECT_EQ(RawClient::StatusOf(answer), 200);
  EXPECT_THAT(answer, HasSubstr("Content-Type: text/plain"));
  EXPECT_THAT(answer, HasSubstr("Content-Disposition: attachment; filename=\"output-0f0f"));
  EXPECT_GT(answer.size(), all.size());
  EXPECT_THAT(answer, HasSubstr("line 49999\n"));
}

TEST_F(OutputDownloadTest, WhatIsNoTextIsSentAsBytes) {
  Print(std::string("\0\1\2", 3));
  StartServer();
  EXPECT_THAT(Ask(Get(Link(), "Connection: close\r\n")),
              HasSubstr("Content-Type: application/octet-stream"));
}

TEST_F(OutputDownloadTest, AForgottenJobAndAWrongLinkAreTheSame404) {
  agent_.read_output.AnswerAlways([](const auto&) { return absl::NotFoundError("no such job"); });
  StartServer();
  EXPECT_EQ(StatusOf(Get(Link())), 404);
  std::string wrong = Link();
  wrong.back() = wrong.back() == 'a' ? 'b' : 'a';
  EXPECT_EQ(StatusOf(Get(wrong)), 404);
}

}  // namespace
}  // namespace sandkeep
