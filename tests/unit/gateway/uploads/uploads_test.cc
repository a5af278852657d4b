// An upload takes what was asked for, for as long as it was said, and is remembered over a restart.

#include "gateway/uploads/uploads.h"

#include <gmock/gmock.h>
#include <stdlib.h>

#include <filesystem>
#include <string>

#include "common/limits.h"
#include "common/strings.h"
#include "gateway/store/database.h"
#include "gateway/uploads/content_range.h"
#include "gateway/uploads/pace.h"
#include "tests/fakes/await.h"
#include "tests/fakes/fake_agent_client.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fakes/fake_random.h"

namespace sandkeep {
namespace {

using std::chrono::steady_clock;

class UploadsTest : public testing::Test {
 protected:
  UploadsTest() {
    char folder[] = "/tmp/sandkeep-uploads-test.XXXXXX";
    folder_ = ::mkdtemp(folder);
    agent_.write_file.calls.AnswerAlways(
        [](const auto&) { return agent::v1::WriteFileResponse(); });
    agent_.get_sandbox.AnswerAlways([this](const auto&) -> absl::StatusOr<agent::v1::Sandbox> {
      if (volume_.empty()) return absl::NotFoundError("no such sandbox");
      agent::v1::Sandbox sandbox;
      sandbox.set_generation(volume_);
      return sandbox;
    });
    Start();
  }
  ~UploadsTest() override {
    uploads_.reset();
    std::filesystem::remove_all(folder_);
  }

  void Start() {
    uploads_.reset();
    uploads_ = *Uploads::Start(*OpenGatewayDatabase(folder_), agent_, random_, clock_);
  }
  mcp::OpenedUpload Open(std::int64_t max_bytes = 1000) {
    mcp::UploadRequest request{.principal = "key-1",
                               .label = "amber",
                               .path = "in",
                               .folder = true,
                               .max_bytes = max_bytes};
    return *runner_.Await(uploads_->Open(request));
  }
  static std::string TokenOf(const mcp::OpenedUpload& opened) {
    return opened.path.substr(4, opened.path.size() - 5);
  }
  std::string HashOf(const mcp::OpenedUpload& opened) {
    return uploads_->Find(TokenOf(opened))->hash;
  }
  absl::Status Begin(const std::string& hash, std::string path, std::int64_t size,
                     std::string id = "") {
    SentFile sent{.path = std::move(path), .size = size, .id = std::move(id)};
    return runner_.Await(uploads_->Begin(hash, std::move(sent))).status();
  }
  void Sweep() {
    auto sweep = [](Uploads& uploads) -> Async<void> {
      co_await uploads.Sweep();
      co_return absl::OkStatus();
    };
    EXPECT_EQ(runner_.Await(sweep(*uploads_)), absl::OkStatus());
  }
  mcp::UploadView Look(const mcp::OpenedUpload& opened) {
    return *runner_.Await(uploads_->Wait("key-1", "amber", opened.name, steady_clock::now()));
  }

  AsyncRunner runner_;
  std::string folder_;
  std::string volume_ = "a generation";
  FakeAgentClient agent_;
  FakeRandom random_;
  FakeClock clock_;
  std::unique_ptr<Uploads> uploads_;
};

TEST_F(UploadsTest, OnesWhoseFilesWereRemovedAreOverAndTakeNoPlace) {
  std::vector<mcp::OpenedUpload> stale;
  for (std::size_t i = 0; i < kMaxUploadsEach; ++i) stale.push_back(Open());
  const std::string hash = HashOf(stale.front());
  EXPECT_EQ(runner_.Await(uploads_->CheckVolume(hash)), absl::OkStatus());
  volume_ = "";
  EXPECT_TRUE(absl::IsOutOfRange(runner_.Await(uploads_->CheckVolume(hash))));
  volume_ = "the label's next";
  Start();
  EXPECT_TRUE(absl::IsOutOfRange(uploads_->Find(TokenOf(stale.front())).status()));
  for (std::size_t i = 0; i < kMaxUploadsEach; ++i) {
    EXPECT_TRUE(uploads_->Find(TokenOf(Open())).ok()) << "those before it are nobody's";
  }
  mcp::UploadRequest request{
      .principal = "key-1", .label = "amber", .path = "in", .folder = true, .max_bytes = 1};
  EXPECT_TRUE(absl::IsResourceExhausted(runner_.Await(uploads_->Open(request)).status()));
}

TEST_F(UploadsTest, OneForASandboxThatHadNoVolumeIsForTheOneThatItGets) {
  volume_ = "";
  const mcp::OpenedUpload opened = Open();
  const std::string hash = HashOf(opened);
  EXPECT_EQ(runner_.Await(uploads_->CheckVolume(hash)), absl::OkStatus());
  uploads_->Bind(hash, "the first one");
  volume_ = "the first one";
  Start();
  EXPECT_EQ(runner_.Await(uploads_->CheckVolume(hash)), absl::OkStatus());
  volume_ = "the label's next";
  EXPECT_TRUE(absl::IsOutOfRange(runner_.Await(uploads_->CheckVolume(hash))));
}

TEST_F(UploadsTest, AFileThatArrivedIsToldAfterARestartToo) {
  const mcp::OpenedUpload opened = Open();
  const std::string hash = HashOf(opened);
  EXPECT_EQ(Begin(hash, "in/a", 10), absl::OkStatus());
  EXPECT_EQ(runner_.Await(uploads_->Arrived(hash, {"in/a", 10, ""}, {"in/a (2)", 10})),
            absl::OkStatus());
  Start();
  const mcp::UploadView view = Look(opened);
  ASSERT_EQ(view.files.size(), 1u);
  EXPECT_EQ(view.files[0].path, "in/a (2)");
  EXPECT_EQ(uploads_->Find(TokenOf(opened))->left_bytes, 990);
}

TEST_F(UploadsTest, NoMoreBytesThanWereAskedForWhateverBegins) {
  const std::string hash = HashOf(Open(100));
  EXPECT_EQ(Begin(hash, "a", 60), absl::OkStatus());
  EXPECT_TRUE(absl::IsResourceExhausted(Begin(hash, "b", 60)));
  EXPECT_EQ(Begin(hash, "a", 60), absl::OkStatus()) << "the same once more";
  // Another size is another part.
  EXPECT_TRUE(absl::IsResourceExhausted(Begin(hash, "a", 61)));
  Start();
  EXPECT_TRUE(absl::IsResourceExhausted(Begin(hash, "b", 60)));
}

TEST_F(UploadsTest, TwoFilesOfOneNameAreToldApartByTheirIds) {
  const mcp::OpenedUpload opened = Open(100);
  const std::string hash = HashOf(opened);
  EXPECT_EQ(Begin(hash, "a", 40, "one"), absl::OkStatus());
  EXPECT_EQ(Begin(hash, "a", 40, "two"), absl::OkStatus());
  EXPECT_TRUE(absl::IsResourceExhausted(Begin(hash, "a", 40, "three")));
  const mcp::UploadRequest request = uploads_->Find(TokenOf(opened))->request;
  const auto part = [&](std::string id) {
    return UploadHeader(hash, request, {"a", 40, std::move(id)}).upload();
  };
  EXPECT_NE(part("one"), part("two"));
  EXPECT_NE(part(""), part("one"));
  Start();
  EXPECT_EQ(runner_.Await(uploads_->Arrived(hash, {"a", 40, "one"}, {"a", 40})), absl::OkStatus());
  EXPECT_EQ(uploads_->Find(TokenOf(opened))->left_bytes, 20) << "of the other one's part too";
  Start();
  EXPECT_EQ(runner_.Await(uploads_->Begin(hash, {"a", 40, "two"}))->get()->is_new(), false);
}

TEST_F(UploadsTest, OnePieceOfAFileAtATime) {
  const std::string hash = HashOf(Open());
  const auto moving = runner_.Await(uploads_->Begin(hash, {"a", 10}));
  ASSERT_TRUE(moving.ok());
  EXPECT_TRUE(absl::IsAborted(Begin(hash, "a", 10)));
  EXPECT_EQ(Begin(hash, "b", 10), absl::OkStatus());
}

TEST_F(UploadsTest, ItEndsInTimeUnlessAPieceArrives) {
  const mcp::OpenedUpload opened = Open();
  const std::string hash = HashOf(opened);
  clock_.Advance(absl::FromChrono(kUploadLifetime) - absl::Seconds(1));
  EXPECT_EQ(runner_.Await(uploads_->Extend(hash)), absl::OkStatus());
  clock_.Advance(absl::Seconds(2));
  EXPECT_TRUE(uploads_->Find(TokenOf(opened)).ok());
  clock_.Advance(absl::FromChrono(kUploadLifetime));
  EXPECT_TRUE(absl::IsOutOfRange(uploads_->Find(TokenOf(opened)).status()));
  EXPECT_TRUE(Look(opened).over);
}

TEST_F(UploadsTest, WhatNeverBecameWholeIsTakenBack) {
  const mcp::OpenedUpload opened = Open();
  const std::string hash = HashOf(opened);
  EXPECT_EQ(Begin(hash, "half", 10), absl::OkStatus());
  Start();
  EXPECT_EQ(runner_.Await(uploads_->End(hash)), absl::OkStatus());
  ASSERT_EQ(agent_.write_file.calls.requests().size(), 1u);
  const agent::v1::WriteFileHeader header = agent_.write_file.calls.requests()[0].header;
  EXPECT_TRUE(header.abandon());
  EXPECT_EQ(header.path(), "half");
  EXPECT_EQ(header.upload().size(), 16u);
  Start();
  EXPECT_EQ(runner_.Await(uploads_->End(hash)), absl::OkStatus());
  EXPECT_EQ(agent_.write_file.calls.requests().size(), 1u) << "once";
}

TEST_F(UploadsTest, WhatCouldNotBeTakenBackIsTriedAgain) {
  const std::string hash = HashOf(Open());
  EXPECT_EQ(Begin(hash, "half", 10), absl::OkStatus());
  EXPECT_EQ(Begin(hash, "other", 10), absl::OkStatus());
  const auto asked = [&] { return agent_.write_file.calls.requests().size(); };
  agent_.write_file.calls.Fail(absl::ResourceExhaustedError("too many files"));
  EXPECT_EQ(runner_.Await(uploads_->End(hash)), absl::OkStatus());
  EXPECT_EQ(asked(), 2u) << "one that fails holds up no other";
  // A restart knows it too, and neither day nor agent make it forgotten.
  Start();
  clock_.Advance(absl::FromChrono(kUploadLifetime) + absl::Hours(25));
  agent_.write_file.calls.Fail(absl::UnavailableError("away"));
  Sweep();
  EXPECT_EQ(asked(), 3u);
  agent_.write_file.calls.Fail(absl::NotFoundError("gone"));
  Sweep();
  EXPECT_EQ(asked(), 4u);
  Start();
  Sweep();
  EXPECT_EQ(asked(), 4u) << "once it is gone";
}

TEST_F(UploadsTest, RoomThatNobodyWillFillIsGivenBackThoughNobodyCallsAgain) {
  EXPECT_EQ(Begin(HashOf(Open()), "half", 10), absl::OkStatus());
  Sweep();
  EXPECT_TRUE(agent_.write_file.calls.requests().empty()) << "its time isn't over";
  clock_.Advance(absl::FromChrono(kUploadLifetime));
  Sweep();
  ASSERT_EQ(agent_.write_file.calls.requests().size(), 1u);
  EXPECT_TRUE(agent_.write_file.calls.requests()[0].header.abandon());
}

TEST_F(UploadsTest, NoPieceExtendsAnUploadBeyondADay) {
  const mcp::OpenedUpload opened = Open();
  const std::string hash = HashOf(opened);
  const auto moving = runner_.Await(uploads_->Begin(hash, {"slow", 10}));
  for (int hour = 0; hour < 23; ++hour) {
    clock_.Advance(absl::Hours(1));
    EXPECT_EQ(runner_.Await(uploads_->Extend(hash)), absl::OkStatus());
  }
  EXPECT_TRUE((*moving)->MayGoOn());
  clock_.Advance(absl::Hours(1));
  EXPECT_FALSE((*moving)->MayGoOn());
  EXPECT_TRUE(absl::IsOutOfRange(uploads_->Find(TokenOf(opened)).status()));
}

TEST_F(UploadsTest, WhatIsOnItsWayMayComeToItsEnd) {
  const mcp::OpenedUpload opened = Open();
  auto moving = runner_.Await(uploads_->Begin(HashOf(opened), {"large", 10}));
  clock_.Advance(absl::FromChrono(kUploadLifetime) + absl::Seconds(1));
  EXPECT_TRUE(uploads_->Find(TokenOf(opened)).ok());
  moving->reset();
  EXPECT_FALSE(uploads_->Find(TokenOf(opened)).ok());
}

TEST_F(UploadsTest, OfWhatIsOverABoundedNumberIsRemembered) {
  mcp::OpenedUpload first;
  mcp::OpenedUpload last;
  for (std::size_t i = 0; i <= kMaxUploadsRemembered; ++i) {
    last = Open();
    if (i == 0) first = last;
    EXPECT_EQ(runner_.Await(uploads_->End(HashOf(last))), absl::OkStatus());
    clock_.Advance(absl::Seconds(1));
  }
  const auto wait = [&](const mcp::OpenedUpload& opened) {
    return runner_.Await(uploads_->Wait("key-1", "amber", opened.name, steady_clock::now()))
        .status();
  };
  EXPECT_TRUE(absl::IsNotFound(wait(first)));
  EXPECT_EQ(wait(last), absl::OkStatus());
  Start();
  EXPECT_TRUE(absl::IsNotFound(wait(first)));
}

TEST_F(UploadsTest, TheNamesOfOneUploadAreBounded) {
  const std::string hash = HashOf(Open(1 << 20));
  const std::string name(kMaxPathBytes - 10, 'x');
  absl::Status begun = absl::OkStatus();
  std::size_t taken = 0;
  while (begun.ok() && taken < 1000) begun = Begin(hash, StrCat(name, ++taken), 1);
  EXPECT_TRUE(absl::IsResourceExhausted(begun));
  EXPECT_LE(taken, kMaxUploadNameBytes / name.size() + 1);
}

TEST_F(UploadsTest, OnePrincipalSendsNotTooManyFilesAtOnce) {
  const std::string hash = HashOf(Open());
  std::vector<std::unique_ptr<Uploads::Transfer>> moving;
  for (int i = 0; i < kMaxUploadStreamsEach; ++i) {
    moving.push_back(*runner_.Await(uploads_->Begin(hash, {StrCat("f", i), 1})));
  }
  EXPECT_TRUE(absl::IsFailedPrecondition(Begin(HashOf(Open()), "one more", 1)));
  moving.pop_back();
  EXPECT_EQ(Begin(hash, "one more", 1), absl::OkStatus());
}

// Its sender didn't hear that it had arrived.
TEST_F(UploadsTest, AFileThatArrivedIsKnownByItsId) {
  const mcp::OpenedUpload opened = Open();
  const std::string hash = HashOf(opened);
  EXPECT_EQ(runner_.Await(uploads_->Arrived(hash, {"a", 10, "id1"}, {"a (2)", 10})),
            absl::OkStatus());
  EXPECT_EQ(runner_.Await(uploads_->Arrived(hash, {"b", 10, ""}, {"b", 10})), absl::OkStatus());
  Start();
  const auto before = uploads_->ArrivedAs(hash, {"a", 10, "id1"}, false);
  ASSERT_TRUE(before.has_value());
  EXPECT_EQ(before->path, "a (2)");
  EXPECT_FALSE(uploads_->ArrivedAs(hash, {"a", 10, "id2"}, true).has_value());
  EXPECT_FALSE(uploads_->ArrivedAs(hash, {"a", 11, "id1"}, true).has_value());
  // Without an id the rest of it is sent again, the whole of it is another.
  EXPECT_TRUE(uploads_->ArrivedAs(hash, {"b", 10, ""}, true).has_value());
  EXPECT_FALSE(uploads_->ArrivedAs(hash, {"b", 10, ""}, false).has_value());
  EXPECT_EQ(Begin(hash, "b", 10), absl::OkStatus());
  EXPECT_FALSE(uploads_->ArrivedAs(hash, {"b", 10, ""}, true).has_value()) << "it began again";
}

TEST(PaceTest, OnlyTimeSpentWaitingForTooLittleCounts) {
  Pace pace(kWriteDeadline);
  EXPECT_TRUE(pace.Keeps(kWriteDeadline - std::chrono::seconds(1), 1));
  EXPECT_TRUE(pace.Keeps(std::chrono::seconds(1), kHttpPieceBytes));
  EXPECT_TRUE(pace.Keeps(kWriteDeadline / 2, kHttpPieceBytes - 1));
  EXPECT_FALSE(pace.Keeps(kWriteDeadline / 2, 0));
}

TEST_F(UploadsTest, StrangersAndWrongTokensFindNothing) {
  const mcp::OpenedUpload opened = Open();
  for (const std::string& token : {std::string(), std::string("AAAAAAAAAAAAAAAAAAAAAA"),
                                   TokenOf(opened) + "A", std::string(5000, 'A')}) {
    EXPECT_TRUE(absl::IsNotFound(uploads_->Find(token).status())) << token;
  }
  EXPECT_TRUE(absl::IsNotFound(
      runner_.Await(uploads_->Wait("key-2", "amber", opened.name, steady_clock::now())).status()));
  EXPECT_TRUE(absl::IsNotFound(
      runner_.Await(uploads_->Wait("key-1", "other", opened.name, steady_clock::now())).status()));
}

TEST_F(UploadsTest, OnePrincipalCantOpenAnyNumber) {
  for (std::size_t i = 0; i < kMaxUploadsEach; ++i) Open();
  mcp::UploadRequest request{
      .principal = "key-1", .label = "amber", .path = "", .folder = true, .max_bytes = 1};
  EXPECT_TRUE(absl::IsResourceExhausted(runner_.Await(uploads_->Open(request)).status()));
  request.principal = "key-2";
  EXPECT_TRUE(runner_.Await(uploads_->Open(request)).ok());
}

TEST(ContentRangeTest, OneFormAlone) {
  const auto range = ContentRange::Parse("bytes 5-9/10");
  ASSERT_TRUE(range.has_value());
  EXPECT_EQ(range->first, 5);
  EXPECT_EQ(range->length, 5);
  EXPECT_EQ(range->total, 10);
  for (const char* bad : {"", "bytes", "bytes 5-9", "bytes 9-5/10", "bytes 5-10/10", "bytes */10",
                          "bytes 0-1/*", "bytes -1-2/3", "bytes 0-0/1 ", "bytes 0-0/1,",
                          "Bytes 0-0/1", "bytes +0-0/1", "bytes 0-99999999999999999999/1"}) {
    EXPECT_FALSE(ContentRange::Parse(bad).has_value()) << bad;
  }
}

}  // namespace
}  // namespace sandkeep
