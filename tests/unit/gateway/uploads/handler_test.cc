// Files handed in over HTTP: who sends too much at once is told to wait, who sends too slowly is
// given up, and a file whose arrival nobody noted isn't sent twice.

#include "gateway/uploads/handler.h"

#include <poll.h>

#include "common/part_name.h"
#include "tests/fakes/await.h"
#include "tests/fakes/fake_random.h"
#include "tests/unit/gateway/http/gateway_fixture.h"

namespace sandkeep {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

constexpr milliseconds kPatience{300};

class UploadHandlerTest : public GatewayFixture {
 protected:
  UploadHandlerTest() {
    uploads_ = &handler_;
    agent_.write_file.calls.AnswerAlways([](const FakeFileWrites::Written& written) {
      agent::v1::WriteFileResponse response;
      const auto received = static_cast<std::int64_t>(written.data.size());
      response.set_received(written.header.offset() + received);
      if (response.received() < written.header.size()) return response;
      response.mutable_info()->set_path(written.header.path());
      return response;
    });
    agent_.stat_file.AnswerAlways([](const auto&) { return absl::NotFoundError("no such file"); });
    agent_.get_sandbox.AnswerAlways([this](const auto&) {
      agent::v1::Sandbox sandbox;
      sandbox.set_generation(volume_);
      return sandbox;
    });
  }
  ~UploadHandlerTest() override {
    // What it hands on to is gone before the fixture's own end; by then every answer was given.
    io_.stop();
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
    server_.reset();
  }

  std::string NewPage() {
    mcp::UploadRequest request{
        .principal = principal_, .label = "amber", .path = "in", .folder = true, .max_bytes = 1000};
    return runner_.Await(desk_->Open(request))->path;
  }
  std::string Put(const std::string& target, std::size_t length, std::string_view more = "") const {
    return Get(target, StrCat("Content-Length: ", length, "\r\n", more), "PUT");
  }
  // Files written, without those that only forget a part.
  std::size_t Written() const {
    std::size_t count = 0;
    for (const auto& written : agent_.write_file.calls.requests()) {
      if (!written.header.abandon()) ++count;
    }
    return count;
  }

  std::string volume_ = "a generation";
  AsyncRunner runner_;
  FakeRandom random_;
  std::unique_ptr<Uploads> desk_ =
      *Uploads::Start(*OpenGatewayDatabase(folder_), agent_, random_, clock_);
  UploadHandler handler_{agent_, *desk_, *keys_, kPatience};
};

TEST_F(UploadHandlerTest, APageWhoseSandboxLostItsFilesTakesNothingForTheNextOne) {
  StartServer();
  const std::string page = NewPage();
  EXPECT_EQ(StatusOf(Get(page)), 200);
  volume_ = "the label's next";
  EXPECT_EQ(StatusOf(Put(page + "late.txt", 4) + "late"), 410);
  EXPECT_EQ(StatusOf(Get(page)), 410);
  EXPECT_EQ(Written(), 0u);
}

TEST_F(UploadHandlerTest, WhoSendsTooManyFilesAtOnceIsToldToWait) {
  StartServer();
  const std::string page = NewPage();
  std::vector<std::unique_ptr<RawClient>> senders;
  for (int i = 0; i < kMaxUploadStreamsEach; ++i) {
    senders.push_back(std::make_unique<RawClient>(server_->port()));
    // Its answer to the first half shows that it is on its way.
    senders.back()->Send(Put(StrCat(page, "f", i), 4, "Expect: 100-continue\r\n"));
    EXPECT_THAT(senders.back()->Until("\r\n\r\n"), HasSubstr("100 Continue"));
    senders.back()->Send("ab");
  }
  const std::string told = Ask(Put(StrCat(page, "one-more"), 1) + "x");
  EXPECT_EQ(RawClient::StatusOf(told), 429);
  EXPECT_THAT(told, HasSubstr("Retry-After: 5\r\n"));
  for (const auto& sender : senders) {
    EXPECT_EQ(RawClient::StatusOf(sender->Send("cd").Answer()), 201);
  }
  EXPECT_EQ(StatusOf(Put(StrCat(page, "one-more"), 1) + "x"), 201);
}

TEST_F(UploadHandlerTest, WhoSendsTooSlowlyIsGivenUpAndItsPlaceIsFree) {
  StartServer();
  const std::string page = NewPage();
  RawClient slow = Connect();
  slow.Send(Put(StrCat(page, "slow"), 900));
  const auto begun = std::chrono::steady_clock::now();
  int sent = 0;
  while (!slow.closed() && sent < 900) {
    slow.Send("x");
    ++sent;
    pollfd waiting{slow.fd(), POLLIN, 0};
    if (::poll(&waiting, 1, 20) > 0) slow.Receive();
  }
  EXPECT_TRUE(slow.closed());
  EXPECT_GE(std::chrono::steady_clock::now() - begun, kPatience);
  EXPECT_LT(sent, 900);
  // The same file, sent as others send.
  EXPECT_EQ(StatusOf(Put(StrCat(page, "slow"), 900) + std::string(900, 'x')), 201);
}

TEST_F(UploadHandlerTest, AFileWhoseArrivalWasNotNotedIsNotSentTwice) {
  StartServer();
  const std::string page = NewPage();
  const std::string half = "Content-Range: bytes 0-1/4\r\nUpload-Id: a1\r\n";
  EXPECT_EQ(StatusOf(Put(page + "f", 2, half) + "ab"), 200);
  const std::string part = agent_.write_file.calls.requests().back().header.upload();
  const std::size_t before = Written();
  // The agent has put it in its place, and the gateway died: its part isn't there any more.
  agent_.stat_file.AnswerAlways([part](const agent::v1::StatFileRequest& request) {
    agent::v1::FileInfo info;
    info.set_path(request.path() == PartPath("in/f", part) ? "in/f (2)" : request.path());
    info.set_size(4);
    return info;
  });
  const std::string asked = Ask(Get(page + "f", "Upload-Length: 4\r\nUpload-Id: a1\r\n", "HEAD"));
  EXPECT_THAT(asked, HasSubstr("Upload-Complete: ?1"));
  const std::string rest = "Content-Range: bytes 2-3/4\r\nUpload-Id: a1\r\n";
  EXPECT_EQ(StatusOf(Put(page + "f", 2, rest) + "cd"), 201);
  EXPECT_EQ(StatusOf(Put(page + "f", 4, "Upload-Id: a1\r\n") + "abcd"), 201);
  EXPECT_EQ(Written(), before);
  // Another file of that name and size is another file.
  EXPECT_EQ(StatusOf(Put(page + "f", 4, "Upload-Id: b2\r\n") + "efgh"), 201);
  EXPECT_EQ(Written(), before + 1);
}

TEST_F(UploadHandlerTest, TheRestOfAFileThatTookItsPlaceUnheardIsOnlyTakenNote) {
  StartServer();
  const std::string page = NewPage();
  EXPECT_EQ(StatusOf(Put(page + "f", 2, "Content-Range: bytes 0-1/4\r\n") + "ab"), 200);
  const std::size_t before = Written();
  agent_.stat_file.AnswerAlways([](const auto&) {
    agent::v1::FileInfo info;
    info.set_path("in/f");
    info.set_size(4);
    return info;
  });
  EXPECT_EQ(StatusOf(Put(page + "f", 2, "Content-Range: bytes 2-3/4\r\n") + "cd"), 201);
  EXPECT_EQ(Written(), before);
}

}  // namespace
}  // namespace sandkeep
