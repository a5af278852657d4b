// The agent's handle with the real program: a picture that nobody can afford costs nobody anything.

#include "agent/imager/imager.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "common/limits.h"
#include "common/sanitizers.h"
#include "common/strings.h"
#include "tests/fakes/await.h"
#include "tests/unit/agent/imager/test_images.h"

namespace sandkeep {
namespace {

constexpr ImageBounds kBounds{1568, 700'000};

UniqueFd FileOf(std::string_view bytes) {
  UniqueFd file(::memfd_create("picture", MFD_CLOEXEC));
  EXPECT_EQ(::write(file.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  ::lseek(file.get(), 0, SEEK_SET);
  return file;
}

std::string TextOf(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The only child that this process has, when there is one.
std::string OnlyChild() {
  for (;;) {
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
      const std::string child = TextOf(task.path() / "children");
      if (!child.empty()) return child.substr(0, child.find(' '));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

Async<RenderedImage> Counting(std::atomic<int>& over, Async<RenderedImage> rendering) {
  absl::StatusOr<RenderedImage> image = co_await std::move(rendering);
  ++over;
  co_return image;
}

class ImagerTest : public testing::Test {
 protected:
  absl::StatusOr<RenderedImage> Render(std::string_view bytes) {
    return runner_.Await(imager_.Render("ann", FileOf(bytes), kBounds));
  }

  AsyncRunner runner_;
  Imager imager_{SANDKEEP_IMAGER_EXECUTABLE};
};

TEST_F(ImagerTest, APictureGoesInAndASmallerOneComesOut) {
  const auto image = Render(JpegFile(Quarters({4000, 3000})));
  ASSERT_TRUE(image.ok()) << image.status();
  EXPECT_TRUE(image->scaled);
  EXPECT_EQ(image->width, 1568);
  EXPECT_EQ(image->height, 1176);
  const std::string small = PngFile(Quarters({40, 30}));
  const auto same = Render(small);
  ASSERT_TRUE(same.ok()) << same.status();
  EXPECT_TRUE(same->data == small);
}

TEST_F(ImagerTest, ABombIsRefusedAndNoOtherPictureWaitsForIt) {
  const std::string bomb = PngBomb(50'000, 50'000);
  EXPECT_LT(bomb.size(), 700'000u);
  EXPECT_TRUE(absl::IsResourceExhausted(Render(bomb).status()));
  EXPECT_TRUE(Render(PngFile(Quarters({40, 30}))).ok());
}

// One that says so is refused by its size; the decoder would unpack all of the other, for nothing.
TEST_F(ImagerTest, ABombThatSaysItIsSmallIsRefusedUnopened) {
  const std::string bomb = PngThatSaysItIsSmall(PngBomb(50'000, 50'000));
  const absl::Status refused = Render(bomb).status();
  EXPECT_TRUE(absl::IsInvalidArgument(refused)) << refused << ": it took all of its time";
}

TEST_F(ImagerTest, OnesBombsKeepNobodyElsesPictureWaiting) {
  const std::string bomb = PngBomb(2'000, 2'000);
  std::atomic<int> over = 0;
  std::vector<std::future<absl::StatusOr<RenderedImage>>> bombs;
  for (int i = 0; i < 8; ++i) {
    bombs.push_back(
        runner_.Begin(Counting(over, imager_.Render("mallory", FileOf(bomb), kBounds))));
  }
  EXPECT_TRUE(Render(PngFile(Quarters({40, 30}))).ok());
  EXPECT_LE(over, kMaxImagers + 1) << "it waited for what was in line before it";
  for (auto& one : bombs) one.get().IgnoreError();
}

TEST_F(ImagerTest, DamagedOnesAndWhatIsNoPictureAreRefused) {
  const std::string jpeg = JpegFile(Quarters({400, 300}));
  EXPECT_TRUE(absl::IsInvalidArgument(Render(jpeg.substr(0, jpeg.size() / 2)).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(Render("no picture").status()));
  EXPECT_TRUE(absl::IsInvalidArgument(Render("").status()));
}

TEST_F(ImagerTest, AProgramThatIsMissingIsNoPicturesFault) {
  Imager missing("/nowhere/sandkeep-imager");
  const auto image =
      runner_.Await(missing.Render("ann", FileOf(PngFile(Quarters({4, 4}))), kBounds));
  EXPECT_TRUE(absl::IsUnavailable(image.status())) << image.status();
}

TEST_F(ImagerTest, AProgramThatLiesIsNotBelieved) {
  Imager liar("/bin/echo");
  const auto image = runner_.Await(liar.Render("ann", FileOf("x"), kBounds));
  EXPECT_TRUE(absl::IsInvalidArgument(image.status())) << image.status();
}

// It gave up at once where its own niceness was less than what it had been given.
TEST_F(ImagerTest, AnAgentThatIsNiceItselfHasPicturesToo) {
  const std::filesystem::path program =
      std::filesystem::path(testing::TempDir()) / StrCat("nice-imager-", ::getpid());
  std::ofstream(program) << "#!/bin/sh\nexec /usr/bin/nice -n 15 " << SANDKEEP_IMAGER_EXECUTABLE
                         << " \"$@\"\n";
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  Imager nice(program);
  const auto image =
      runner_.Await(nice.Render("ann", FileOf(PngFile(Quarters({40, 30}))), kBounds));
  EXPECT_TRUE(image.ok()) << image.status();
  std::filesystem::remove(program);
}

TEST_F(ImagerTest, ManyAtOnceAllGetTheirTurn) {
  const std::string png = PngFile(Quarters({1700, 20}));
  std::vector<std::future<absl::StatusOr<RenderedImage>>> images;
  for (int i = 0; i < 12; ++i) {
    images.push_back(runner_.Begin(imager_.Render("ann", FileOf(png), kBounds)));
  }
  for (auto& image : images) EXPECT_TRUE(image.get().ok());
}

TEST_F(ImagerTest, TheProgramCanDoNothingElse) {
  if constexpr (kSanitized) GTEST_SKIP() << "such a build isn't confined";
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  UniqueFd write(ends[1]);
  auto image = runner_.Begin(imager_.Render("ann", UniqueFd(ends[0]), kBounds));
  const std::string child = StrCat("/proc/", OnlyChild());
  // It waits for its picture when it has given everything up.
  while (TextOf(child + "/status").find("Seccomp:\t2") == std::string::npos) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_NE(TextOf(child + "/status").find("NoNewPrivs:\t1"), std::string::npos);
  const std::string limits = TextOf(child + "/limits");
  EXPECT_NE(limits.find("Max address space         268435456            268435456"),
            std::string::npos)
      << limits;
  EXPECT_NE(limits.find("Max cpu time              2                    2"), std::string::npos);
  EXPECT_NE(limits.find("Max open files            0                    0"), std::string::npos);
  write.Reset();
  EXPECT_TRUE(absl::IsInvalidArgument(image.get().status()));
}

}  // namespace
}  // namespace sandkeep
