// Files through the agent's real socket: whole, in ranges, and when they change underneath.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <cstdio>
#include <fstream>

#include "common/limits.h"
#include "tests/integration/agent_harness.h"

namespace sandkeep {
namespace {

namespace v1 = agent::v1;
using std::chrono::steady_clock;

class AgentFilesTest : public testing::Test {
 protected:
  void Serve(const std::string& content, std::int64_t claimed_size) {
    const std::string path = agent_.folder() + "/file";
    std::ofstream(path) << content;
    agent_.manager.open_file = [path, claimed_size](SandboxRef, RelPath) {
      SandboxFile file{.key = SomeSandbox().key,
                       .generation = SomeSandbox().generation,
                       .entry = {},
                       .file = UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC))};
      file.entry.path = "file";
      file.entry.mode = S_IFREG | 0644;
      file.entry.size = claimed_size;
      return Answered<SandboxFile>(std::move(file));
    };
  }

  // The bytes, or how the stream ended.
  absl::StatusOr<std::string> Read(v1::ReadFileRequest request) {
    const FileChunkStream stream = agent_.client->ReadFile(std::move(request));
    std::string data;
    for (;;) {
      const auto chunk = agent_.Run(stream->Next());
      if (!chunk.ok()) return chunk.status();
      if (!chunk->has_value()) return data;
      if (data.empty()) first_ = **chunk;
      data += (*chunk)->data();
      EXPECT_LE((*chunk)->data().size(), kMaxFileChunk);
    }
  }

  static v1::ReadFileRequest Request() {
    auto request = Named<v1::ReadFileRequest>();
    request.set_path("file");
    return request;
  }

  AgentHarness agent_;
  v1::FileChunk first_;
};

TEST_F(AgentFilesTest, AFileArrivesWhole) {
  std::string content(3 * kMaxFileChunk + 7, '\0');
  for (std::size_t i = 0; i < content.size(); ++i) content[i] = static_cast<char>(i * 31);
  Serve(content, static_cast<std::int64_t>(content.size()));
  const auto data = Read(Request());
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_TRUE(*data == content);
  EXPECT_EQ(first_.info().size(), static_cast<std::int64_t>(content.size()));
  EXPECT_EQ(first_.info().generation(), "gggggggggggggggg");
}

TEST_F(AgentFilesTest, ARangeIsCutAtTheFilesEnd) {
  Serve("0123456789", 10);
  v1::ReadFileRequest request = Request();
  request.set_offset(7);
  request.set_length(100);
  EXPECT_EQ(*Read(request), "789");
  request.set_length(2);
  EXPECT_EQ(*Read(request), "78");
  request.set_offset(11);
  EXPECT_TRUE(absl::IsOutOfRange(Read(request).status()));
}

TEST_F(AgentFilesTest, AnEmptyFileStillSaysWhatItIs) {
  Serve("", 0);
  const FileChunkStream stream = agent_.client->ReadFile(Request());
  const auto chunk = agent_.Run(stream->Next());
  ASSERT_TRUE(chunk.ok() && chunk->has_value());
  EXPECT_EQ((*chunk)->info().path(), "file");
  EXPECT_EQ(*agent_.Run(stream->Next()), std::nullopt);
}

TEST_F(AgentFilesTest, AFileThatShrankIsDataLoss) {
  Serve("short", 100);
  EXPECT_TRUE(absl::IsDataLoss(Read(Request()).status()));
}

TEST_F(AgentFilesTest, AnotherFileThanExpectedIsAborted) {
  Serve("content", 7);
  v1::ReadFileRequest request = Request();
  request.set_if_etag("AAAAAAAAAAAAAAAAAAAAAA");
  EXPECT_TRUE(absl::IsAborted(Read(request).status()));
}

TEST_F(AgentFilesTest, ReportsItsSpeed) {
  constexpr std::size_t kBytes = 256_MiB;
  Serve(std::string(kBytes, 'x'), kBytes);
  struct Loop {
    static Async<std::size_t> Drain(FileChunkStream stream) {
      std::size_t bytes = 0;
      for (;;) {
        auto waiting = stream->Next();
        const auto chunk = co_await std::move(waiting);
        if (!chunk.ok()) co_return chunk.status();
        if (!chunk->has_value()) co_return bytes;
        bytes += (*chunk)->data().size();
      }
    }
  };
  const auto begin = steady_clock::now();
  const auto bytes = agent_.Run(Loop::Drain(agent_.client->ReadFile(Request())));
  const std::chrono::duration<double> took = steady_clock::now() - begin;
  EXPECT_EQ(*bytes, kBytes);
  std::printf("ReadFile: %.2f GB/s\n", kBytes / took.count() / 1e9);
}

}  // namespace
}  // namespace sandkeep
