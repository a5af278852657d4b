// Files by link through a real agent's API, by both ways: as a descriptor that is handed over, and
// streamed. Whoever asks gets the same; what was handed over is looked at before it is believed.

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <fstream>
#include <iterator>

#include "agent/client/descriptor_door.h"
#include "agent/service/file_tickets.h"
#include "common/descriptor_frame.h"
#include "common/frame_socket.h"
#include "common/limits.h"
#include "common/opened_file.h"
#include "tests/integration/agent_harness.h"
#include "tests/unit/gateway/http/gateway_fixture.h"

namespace sandkeep {
namespace {

using testing::HasSubstr;

std::string ManyBytes(std::size_t count) {
  std::string bytes(count, '\0');
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<char>(i * 31 + (i >> 10));
  return bytes;
}

class FileSourcesTest : public GatewayFixture {
 protected:
  FileSourcesTest() {
    // As the gateway does: sendfile can't be told to raise none.
    std::signal(SIGPIPE, SIG_IGN);
    file_agent_ = served_.client.get();
    SandboxSnapshot sandbox = SomeSandbox();
    sandbox.principal = *PrincipalId::Parse(principal_);
    served_.manager.get = [sandbox](const SandboxRef&) { return sandbox; };
    served_.manager.stat_file = [this](SandboxRef, RelPath) {
      ++stats_;
      return Answered<SandboxFile>(Look(UniqueFd(::open(path().c_str(), O_RDONLY | O_CLOEXEC))));
    };
    served_.manager.open_file = [this](SandboxRef, RelPath) {
      SandboxFile file = Look(UniqueFd(::open(path().c_str(), opened_as_ | O_CLOEXEC)));
      file.hold = hold_;
      return Answered<SandboxFile>(std::move(file));
    };
    Put("0123456789");
  }
  ~FileSourcesTest() override {
    io_.stop();
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
    // What was about to end an answer ends it while the door is there.
    io_.restart();
    io_.poll();
    server_.reset();
    downloads_.reset();
  }

  void OpenDoor(const std::string& socket_path) {
    real_door_ = std::make_unique<DescriptorDoor>(io_.get_executor(), socket_path);
    door_ = real_door_.get();
  }

  std::string path() const { return served_.folder() + "/file"; }
  void Put(const std::string& content) { std::ofstream(path(), std::ios::trunc) << content; }

  SandboxFile Look(UniqueFd file) const {
    struct stat info{};
    EXPECT_EQ(::fstat(file.get(), &info), 0);
    SandboxFile seen{.key = SomeSandbox().key,
                     .generation = SomeSandbox().generation,
                     .entry = {},
                     .file = std::move(file)};
    seen.entry.path = "file";
    seen.entry.mode = info.st_mode;
    seen.entry.size = info.st_size;
    seen.entry.device = info.st_dev;
    seen.entry.inode = info.st_ino;
    seen.entry.changed_ns = absl::ToUnixNanos(absl::TimeFromTimespec(info.st_ctim));
    return seen;
  }

  std::string Link() {
    return links_.Make("",
                       {.principal = principal_,
                        .key = SomeSandbox().key.text(),
                        .generation = SomeSandbox().generation.bytes()},
                       "file");
  }
  // Whose hold is gone.
  bool LetGo() {
    const auto until = std::chrono::steady_clock::now() + kTestPatience;
    while (hold_.use_count() > 1 && std::chrono::steady_clock::now() < until) {
      std::this_thread::yield();
    }
    return hold_.use_count() == 1;
  }

  AgentHarness served_;
  int opened_as_ = O_RDONLY;
  const std::shared_ptr<void> hold_ = std::make_shared<int>();
  // A file is looked at before it is streamed, and only then.
  std::atomic<int> stats_ = 0;
  // An answer's last byte comes before its end: it goes after the threads have ended.
  std::unique_ptr<DescriptorDoor> real_door_;
};

class EachWayTest : public FileSourcesTest, public testing::WithParamInterface<bool> {
 protected:
  EachWayTest() {
    if (GetParam()) OpenDoor(served_.socket_path());
    StartServer();
  }
  void ExpectTheWay(int files) { EXPECT_EQ(stats_, GetParam() ? 0 : files); }
};
INSTANTIATE_TEST_SUITE_P(, EachWayTest, testing::Bool(),
                         [](const auto& way) { return way.param ? "ByDescriptor" : "Streamed"; });

TEST_P(EachWayTest, FilesOfEverySizeArriveWhole) {
  int files = 0;
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, kHttpPieceBytes,
                                 kHttpPieceBytes + 1, std::size_t{9} * kMaxFileChunk + 7}) {
    const std::string content = ManyBytes(size);
    Put(content);
    const std::string answer = Ask(Get(Link()));
    EXPECT_EQ(RawClient::StatusOf(answer), 200);
    EXPECT_TRUE(RawClient::BodyOf(answer) == content) << size;
    ++files;
  }
  ExpectTheWay(files);
  EXPECT_TRUE(LetGo());
}

TEST_P(EachWayTest, PartsAndConditionsAndWhatFollowsOnTheConnection) {
  Put(ManyBytes(1 << 20));
  RawClient client = Connect();
  const std::string link = Link();
  const std::string part = client.Send(Get(link, "Range: bytes=700000-\r\n")).Answer();
  EXPECT_EQ(RawClient::StatusOf(part), 206);
  EXPECT_TRUE(RawClient::BodyOf(part) == ManyBytes(1 << 20).substr(700'000));
  EXPECT_EQ(RawClient::BodyOf(client.Send(Get(link, "Range: bytes=3-4\r\n")).Answer()),
            ManyBytes(5).substr(3));
  EXPECT_EQ(RawClient::StatusOf(client.Send(Get(link, "Range: bytes=9999999-\r\n")).Answer()), 416);
  ExpectTheWay(3);
  EXPECT_EQ(RawClient::StatusOf(client.Send(Get(link, "", "HEAD")).Answer(true)), 200);
  EXPECT_EQ(RawClient::StatusOf(client.Send(Get(link, "If-None-Match: *\r\n")).Answer()), 304);
  EXPECT_EQ(RawClient::StatusOf(client.Send(Get("/healthz")).Answer()), 200);
  EXPECT_TRUE(LetGo()) << "what needs no bytes opens nothing";
}

TEST_P(EachWayTest, OneThatIsReplacedGoesOnAndOneThatShrinksIsCut) {
  const std::string content = ManyBytes(16 << 20);
  for (const bool shrinks : {false, true}) {
    Put(content);
    RawClient client(server_->port(), 4096);
    client.Send(Get(Link(), "Connection: close\r\n"));
    const std::string head = client.Until("\r\n\r\n");
    EXPECT_THAT(head, HasSubstr("Content-Length: 16777216\r\n"));
    if (shrinks) {
      EXPECT_EQ(::truncate(path().c_str(), 12 << 20), 0);
    } else {
      std::filesystem::remove(path());
    }
    const std::string body = client.UntilClosed();
    if (shrinks) {
      EXPECT_LT(body.size(), content.size());
    } else {
      EXPECT_TRUE(body == content);
    }
  }
  EXPECT_TRUE(LetGo());
}

TEST_P(EachWayTest, AClientThatLeavesLetsTheFileGo) {
  Put(ManyBytes(16 << 20));
  {
    RawClient client(server_->port(), 4096);
    client.Send(Get(Link()));
    client.Until("\r\n\r\n");
    EXPECT_GT(hold_.use_count(), 1) << "its sandbox is kept awake";
  }
  EXPECT_TRUE(LetGo());
}

// ---- What isn't believed, and what to do without ----

class DoorTest : public FileSourcesTest {
 protected:
  void Open() {
    OpenDoor(socket_path_);
    StartServer();
  }

  std::string socket_path_ = served_.socket_path();
};

TEST_F(DoorTest, WithoutTheSocketFilesAreStreamed) {
  socket_path_ += ".elsewhere";
  Open();
  EXPECT_EQ(RawClient::BodyOf(Ask(Get(Link()))), "0123456789");
  EXPECT_EQ(RawClient::BodyOf(Ask(Get(Link()))), "0123456789");
  EXPECT_EQ(stats_, 2);
}

TEST_F(DoorTest, ADescriptorThatCouldBeWrittenToIsNotTaken) {
  opened_as_ = O_RDWR;
  Open();
  EXPECT_EQ(RawClient::BodyOf(Ask(Get(Link()))), "0123456789");
  EXPECT_EQ(stats_, 1) << "it was streamed";
  EXPECT_TRUE(LetGo());
}

TEST_F(DoorTest, AnAgentThatComesBackIsFoundAgain) {
  Open();
  EXPECT_EQ(RawClient::BodyOf(Ask(Get(Link()))), "0123456789");
  served_.StopServer();
  EXPECT_EQ(StatusOf(Get(Link())), 503);
  served_.StartServer();
  const auto until = std::chrono::steady_clock::now() + kTestPatience;
  // What was on its way to the one that has gone may shut the door once more.
  std::string answer;
  int streamed = 1;
  while (streamed != 0 && std::chrono::steady_clock::now() < until) {
    const int before = stats_;
    answer = Ask(Get(Link()));
    streamed = RawClient::StatusOf(answer) == 200 ? stats_ - before : 1;
  }
  EXPECT_EQ(streamed, 0) << "by descriptor, as before";
  EXPECT_EQ(RawClient::BodyOf(answer), "0123456789");
}

// An agent's descriptor socket that answers as a test wants.
class LyingSocket {
 public:
  using Answer = std::function<void(FrameSocket&, DescriptorFrame)>;

  LyingSocket(const std::string& api_path, Answer answer) : answer_(std::move(answer)) {
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    DescriptorSocketPath(api_path).copy(address.sun_path, sizeof(address.sun_path) - 1);
    EXPECT_EQ(::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)),
              0);
    EXPECT_EQ(::listen(listener_.get(), 8), 0);
    thread_ = std::thread([this] { Serve(); });
  }
  ~LyingSocket() {
    ::shutdown(listener_.get(), SHUT_RDWR);
    ::shutdown(connection_.load(), SHUT_RDWR);
    thread_.join();
  }

 private:
  void Serve() {
    UniqueFd connection(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!connection) return;
    connection_ = connection.get();
    FrameSocket frames = *FrameSocket::Adopt(std::move(connection));
    for (;;) {
      const absl::StatusOr<Frame> frame = frames.Receive();
      if (absl::IsResourceExhausted(frame.status())) {
        std::this_thread::yield();
        continue;
      }
      if (!frame.ok()) return;
      const auto asked = DescriptorFrame::Parse(frame->bytes);
      if (asked->word == DescriptorWord::kTake) answer_(frames, *asked);
    }
  }

  const Answer answer_;
  const UniqueFd listener_{::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)};
  std::atomic<int> connection_ = -1;
  std::thread thread_;
};

class LiedToTest : public DoorTest {
 protected:
  void Lie(LyingSocket::Answer answer) {
    socket_path_ += ".lies";
    liar_ = std::make_unique<LyingSocket>(socket_path_, std::move(answer));
    Open();
  }
  static void HandOver(FrameSocket& frames, DescriptorFrame frame, int file) {
    frame.word = DescriptorWord::kFile;
    EXPECT_TRUE(frames.Send(frame.Text(), absl::MakeConstSpan(&file, 1)).ok());
  }

  std::unique_ptr<LyingSocket> liar_;
};

// As where this machine's rules keep the descriptor back.
TEST_F(LiedToTest, WhereNoDescriptorComesInFilesAreStreamed) {
  Lie([](FrameSocket& frames, DescriptorFrame frame) {
    frame.word = DescriptorWord::kFile;
    EXPECT_TRUE(frames.Send(frame.Text()).ok());
  });
  EXPECT_EQ(RawClient::BodyOf(Ask(Get(Link()))), "0123456789");
  EXPECT_FALSE(real_door_->open()) << "not every file shall find that out";
  EXPECT_EQ(RawClient::BodyOf(Ask(Get(Link()))), "0123456789");
  EXPECT_EQ(stats_, 2);
}

TEST_F(LiedToTest, AnotherFileThanTheOneNamedIsNotSent) {
  Lie([](FrameSocket& frames, const DescriptorFrame& frame) {
    const UniqueFd other(::open("/proc/self/maps", O_RDONLY | O_CLOEXEC));
    HandOver(frames, frame, other.get());
  });
  EXPECT_EQ(StatusOf(Get(Link())), 412);
}

TEST_F(LiedToTest, WhatIsNoFileIsNotSent) {
  Lie([](FrameSocket& frames, const DescriptorFrame& frame) {
    const UniqueFd other(::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    HandOver(frames, frame, other.get());
  });
  EXPECT_EQ(RawClient::BodyOf(Ask(Get(Link()))), "0123456789");
  EXPECT_EQ(stats_, 1);
}

TEST_F(LiedToTest, NonsenseEndsTheConnectionAndFilesAreStreamed) {
  Lie([](FrameSocket& frames, const DescriptorFrame&) {
    EXPECT_TRUE(frames.Send("nonsense").ok());
  });
  EXPECT_EQ(RawClient::BodyOf(Ask(Get(Link()))), "0123456789");
  EXPECT_EQ(stats_, 1);
}

// ---- Tickets ----

class TicketTest : public FileSourcesTest {
 protected:
  agent::v1::OpenFileResponse OpenIt() {
    agent::v1::OpenFileRequest request;
    request.mutable_sandbox()->set_key(SomeSandbox().key.text());
    request.set_path("file");
    auto opened = served_.Run(served_.client->OpenFile(request));
    EXPECT_TRUE(opened.ok()) << opened.status();
    return opened.ok() ? *opened : agent::v1::OpenFileResponse();
  }
  absl::Status Fetch(const std::string& ticket) {
    return served_.Run(fetching_.Fetch(ticket)).status();
  }

  DescriptorDoor fetching_{served_.io().get_executor(), served_.socket_path()};
};

TEST_F(TicketTest, OneIsGoodOnceAndNoneThatWasMadeUpIs) {
  const agent::v1::OpenFileResponse opened = OpenIt();
  EXPECT_EQ(opened.ticket().size(), kTicketBytes);
  EXPECT_EQ(opened.info().size(), 10);
  EXPECT_EQ(Fetch(opened.ticket()), absl::OkStatus());
  EXPECT_TRUE(absl::IsNotFound(Fetch(opened.ticket())));
  EXPECT_TRUE(absl::IsNotFound(Fetch(std::string(kTicketBytes, 't'))));
  EXPECT_TRUE(fetching_.open()) << "a wrong ticket is no reason to shut it";
  fetching_.Done(opened.ticket());
  EXPECT_TRUE(LetGo());
}

TEST_F(TicketTest, OneThatNobodyFetchesIsClosedByItself) {
  const auto tickets = std::make_shared<FileTickets>(served_.io().get_executor(), SystemRandom(),
                                                     std::chrono::milliseconds(30));
  const auto ticket = tickets->Issue({.file = UniqueFd(), .hold = hold_});
  ASSERT_TRUE(ticket.ok());
  EXPECT_GT(hold_.use_count(), 1);
  EXPECT_TRUE(LetGo());
  EXPECT_EQ(tickets->Take(*ticket), std::nullopt);
}

TEST_F(TicketTest, SoManyWaitAndNoMore) {
  const auto tickets = std::make_shared<FileTickets>(served_.io().get_executor(), SystemRandom());
  std::string first;
  for (std::size_t i = 0; i < kMaxFileTickets; ++i) {
    const auto ticket = tickets->Issue({.file = UniqueFd(), .hold = nullptr});
    ASSERT_TRUE(ticket.ok());
    first = *ticket;
  }
  EXPECT_TRUE(absl::IsResourceExhausted(tickets->Issue({}).status()));
  EXPECT_TRUE(tickets->Take(first).has_value());
  EXPECT_TRUE(tickets->Issue({}).ok());
}

TEST_F(TicketTest, ManyAtOnceAllGetTheirs) {
  constexpr int kCount = 300;
  std::vector<std::string> tickets;
  for (int i = 0; i < kCount; ++i) tickets.push_back(OpenIt().ticket());
  std::vector<std::future<absl::StatusOr<UniqueFd>>> fetched;
  for (const std::string& ticket : tickets) {
    fetched.push_back(
        boost::asio::co_spawn(served_.io(), fetching_.Fetch(ticket), boost::asio::use_future));
  }
  for (auto& one : fetched) EXPECT_EQ(one.get().status(), absl::OkStatus());
  for (const std::string& ticket : tickets) fetching_.Done(ticket);
  EXPECT_TRUE(LetGo());
}

TEST_F(TicketTest, WhoSendsNonsenseIsDisconnectedAndHoldsNothing) {
  for (const std::string_view nonsense : {"x", "Tshort", "F0123456789abcdef"}) {
    UniqueFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    DescriptorSocketPath(served_.socket_path())
        .copy(address.sun_path, sizeof(address.sun_path) - 1);
    ASSERT_EQ(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)),
              0);
    ASSERT_GT(::send(socket.get(), nonsense.data(), nonsense.size(), MSG_NOSIGNAL), 0);
    char byte = 0;
    EXPECT_LE(::recv(socket.get(), &byte, 1, 0), 0) << nonsense;
  }
  EXPECT_EQ(Fetch(OpenIt().ticket()), absl::OkStatus());
}

}  // namespace
}  // namespace sandkeep
