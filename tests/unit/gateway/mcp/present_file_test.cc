#include "common/image_format.h"
#include "common/limits.h"
#include "gateway/mcp/base64.h"
#include "tests/unit/gateway/mcp/endpoint_test_base.h"

namespace sandkeep::mcp {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;
using namespace std::string_literals;
using namespace std::string_view_literals;

class PresentFileTest : public EndpointTestBase {
 protected:
  PresentFileTest() {
    settings_.mime_type_of = [](std::string_view name) {
      return name.substr(name.rfind('.') + 1) == "txt" ? "text/plain" : "application/x-thing";
    };
  }

  static v1::FileInfo File(std::string_view path, std::int64_t size) {
    v1::FileInfo info;
    info.set_path(std::string(path));
    info.set_type(v1::FileInfo::REGULAR);
    info.set_size(size);
    info.set_key("amber-otter-417-abcdefghijklmnop");
    info.set_generation("0123456789abcdef");
    return info;
  }

  void Has(std::string_view path, std::string_view bytes) {
    agent_.stat_file.Answer(File(path, static_cast<std::int64_t>(bytes.size())));
    v1::FileChunk chunk;
    chunk.set_data(std::string(bytes));
    agent_.read_file.Answer({chunk});
  }

  Reply Present(std::string_view path, std::string_view more = "") {
    return Ask(ModernCall("present_file",
                          StrCat(R"("sandbox":"amber otter 417","path":")", path, "\"", more)));
  }

  static json::array Blocks(const Reply& reply) { return ResultOf(reply).at("content").as_array(); }
};

constexpr std::string_view kPng = "\x89PNG\r\n\x1A\nand so on"sv;

v1::RenderImageResponse Picture(std::string_view mime_type, std::string_view bytes, bool scaled) {
  v1::RenderImageResponse picture;
  picture.set_mime_type(std::string(mime_type));
  picture.set_data(std::string(bytes));
  picture.set_width(1568);
  picture.set_height(1045);
  picture.set_scaled(scaled);
  return picture;
}

TEST_F(PresentFileTest, ATextIsShownAndLinked) {
  Has("out/a.txt", "some text\n");
  const Reply reply = Present("out/a.txt");
  EXPECT_EQ(TextOf(reply),
            "[sandbox amber-otter-417]\n"
            "a.txt, 10 bytes, text/plain. The link works for 60 min; call this again for a "
            "new one. Its text follows.\n"
            "The person doesn't see this result: put this line into your answer.\n"
            "[a.txt](https://box.example/dl/signed/amber-otter-417-abcdefghijklmnop/out/a.txt)");
  const json::array blocks = Blocks(reply);
  ASSERT_EQ(blocks.size(), 3u);
  EXPECT_EQ(blocks[1].at("text").as_string(), "some text\n");
  EXPECT_EQ(blocks[2].at("type").as_string(), "resource_link");
  EXPECT_EQ(blocks[2].at("name").as_string(), "a.txt");
  EXPECT_EQ(blocks[2].at("mimeType").as_string(), "text/plain");
  EXPECT_EQ(blocks[2].at("size").as_int64(), 10);
  EXPECT_EQ(links_.generation_, "0123456789abcdef");
  EXPECT_EQ(agent_.stat_file.requests()[0].path(), "out/a.txt");
}

TEST_F(PresentFileTest, AnImageIsShownAndLinked) {
  Has("plot.png", kPng);
  agent_.render_image.Answer(Picture("image/png", kPng, false));
  const json::array blocks = Blocks(Present("/workspace/plot.png"));
  ASSERT_EQ(blocks.size(), 3u);
  EXPECT_EQ(blocks[1].at("type").as_string(), "image");
  EXPECT_EQ(blocks[1].at("mimeType").as_string(), "image/png");
  EXPECT_EQ(std::string_view(blocks[1].at("data").as_string()), Base64(kPng));
  EXPECT_EQ(blocks[2].at("mimeType").as_string(), "image/png");
  const v1::RenderImageRequest request = agent_.render_image.requests().at(0);
  EXPECT_EQ(request.path(), "plot.png");
  EXPECT_EQ(request.max_px(), 1568u);
  EXPECT_EQ(request.max_bytes(), 700'000);
}

TEST_F(PresentFileTest, OfALargeImageOnlyTheHeadIsReadAndASmallerOneShown) {
  agent_.stat_file.Answer(File("photo.jpg", 8'000'000));
  v1::FileChunk head;
  head.set_data("\xFF\xD8\xFF\xE0 and so on.."s.substr(0, kImageFormatBytes));
  agent_.read_file.Answer({head});
  agent_.render_image.Answer(Picture("image/webp", "smaller", true));
  const Reply reply = Present("photo.jpg");
  EXPECT_EQ(agent_.read_file.requests().at(0).length(),
            static_cast<std::int64_t>(kImageFormatBytes));
  EXPECT_THAT(TextOf(reply), HasSubstr("made smaller to 1568 x 1045 pixels; the link has it "
                                       "whole."));
  const json::array blocks = Blocks(reply);
  ASSERT_EQ(blocks.size(), 3u);
  EXPECT_EQ(blocks[1].at("mimeType").as_string(), "image/webp");
  EXPECT_EQ(blocks[2].at("mimeType").as_string(), "image/jpeg") << "the link's is the file's own";
}

TEST_F(PresentFileTest, AnImageThatWouldEndTheConversationIsOnlyLinked) {
  Has("broken.png", kPng);
  agent_.render_image.Fail(absl::InvalidArgumentError("it is damaged"));
  const Reply broken = Present("broken.png");
  EXPECT_EQ(Blocks(broken).size(), 2u);
  EXPECT_FALSE(IsToolError(broken));
  EXPECT_THAT(TextOf(broken), HasSubstr("The image can't be shown here: it is damaged."));
  Has("bomb.png", kPng);
  agent_.render_image.Fail(absl::ResourceExhaustedError("it takes too much to look at"));
  EXPECT_THAT(TextOf(Present("bomb.png")), HasSubstr("it takes too much to look at."));
  Has("later.png", kPng);
  agent_.render_image.Fail(absl::UnavailableError("sandkeep-agent isn't answering on /run/x"));
  const Reply later = Present("later.png");
  EXPECT_EQ(Blocks(later).size(), 2u);
  EXPECT_THAT(TextOf(later), Not(HasSubstr("/run/x")));
  Has("text.png", "no image at all");
  EXPECT_EQ(Blocks(Present("text.png"))[1].at("type").as_string(), "text");
}

TEST_F(PresentFileTest, AnOperatorMayLowerWhatIsShown) {
  settings_.image_max_bytes = 100'000;
  Has("plot.png", kPng);
  agent_.render_image.Answer(Picture("image/png", kPng, false));
  EXPECT_EQ(Blocks(Present("plot.png")).size(), 3u);
  EXPECT_EQ(agent_.render_image.requests().back().max_bytes(), 100'000);
}

TEST_F(PresentFileTest, AnOperatorMayForbidThatImagesAreShown) {
  settings_.image_max_bytes = 0;
  Has("plot.png", kPng);
  EXPECT_EQ(Blocks(Present("plot.png")).size(), 2u);
  EXPECT_TRUE(agent_.render_image.requests().empty());
}

TEST_F(PresentFileTest, WhatIsTooLargeIsOnlyLinkedAndNotReadWhole) {
  agent_.stat_file.Answer(File("big.txt", 50'000'000));
  v1::FileChunk head;
  head.set_data("sixteen letters.");
  agent_.read_file.Answer({head});
  const Reply reply = Present("big.txt");
  EXPECT_EQ(Blocks(reply).size(), 2u);
  EXPECT_THAT(TextOf(reply), HasSubstr("50.0 MB"));
  EXPECT_THAT(TextOf(reply), HasSubstr("too large to be shown"));
  EXPECT_EQ(agent_.read_file.requests().back().length(), 16);
  agent_.stat_file.Answer(
      File("long.txt", static_cast<std::int64_t>(settings_.inline_max_bytes + 1)));
  agent_.read_file.Answer({head});
  EXPECT_EQ(Blocks(Present("long.txt")).size(), 2u);
  Has("full.txt", std::string(settings_.inline_max_bytes, 'x'));
  EXPECT_EQ(Blocks(Present("full.txt")).size(), 3u);
}

TEST_F(PresentFileTest, OtherFilesAndEmptyOnesAreLinked) {
  Has("a.bin", "\0\1\2"sv);
  EXPECT_EQ(Blocks(Present("a.bin")).size(), 2u);
  Has("latin.txt", "caf\xE9");
  EXPECT_EQ(Blocks(Present("latin.txt")).size(), 2u);
  agent_.stat_file.Answer(File("empty.txt", 0));
  EXPECT_THAT(TextOf(Present("empty.txt")), HasSubstr("The file is empty."));
}

TEST_F(PresentFileTest, ACaptionIsTheLinksTextAndNeverMarkup) {
  Has("a.txt", "x");
  EXPECT_THAT(TextOf(Present("a.txt", R"(,"caption":"Q3 [final]\n](https://evil) *now*")")),
              HasSubstr("\n[Q3 \\[final\\] \\](https://evil) \\*now\\*](https://box.example/"));
  Has("a.txt", "x");
  const Reply longer =
      Present("a.txt", StrCat(R"(,"caption":")", std::string(3 * kMaxCaptionBytes, 'c'), "\""));
  EXPECT_LT(TextOf(longer).size(), 2 * kMaxCaptionBytes);
}

TEST_F(PresentFileTest, AFileOutsideIsRefusedWithTheLineThatCopiesIt) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"/tmp/plot.png", "\ncp -- /tmp/plot.png /workspace/"},
      {"/tmp/my plot.png", "\ncp -- '/tmp/my plot.png' /workspace/"},
      {"/tmp/it's", "\ncp -- '/tmp/it'\\''s' /workspace/"},
      {"~/a b", "\ncp -- ~/'a b' /workspace/"},
      {"/workspaces/x", "\ncp -- /workspaces/x /workspace/"},
      {"file:///etc/passwd", "\ncp -- /etc/passwd /workspace/"},
  };
  for (const auto& [path, line] : cases) {
    const Reply reply = Present(path);
    EXPECT_TRUE(IsToolError(reply));
    EXPECT_THAT(TextOf(reply), StartsWith("[sandbox amber-otter-417] Only files below /workspace"));
    EXPECT_THAT(TextOf(reply), EndsWith(line));
  }
  EXPECT_TRUE(agent_.stat_file.requests().empty());
}

TEST_F(PresentFileTest, PathsThatLeadNowhereAreRefused) {
  for (const std::string& path :
       {std::string("../x"), std::string("a/../../x"), std::string("/workspace/../etc/passwd"),
        std::string("a\\u0000b"), std::string(5000, 'a'), std::string(300, 'a'), std::string()}) {
    EXPECT_TRUE(IsToolError(Present(path))) << path;
  }
  EXPECT_TRUE(agent_.stat_file.requests().empty());
}

TEST_F(PresentFileTest, PathsMayBeWrittenInSeveralWays) {
  for (const std::string_view path :
       {"d/a.txt", "./d/a.txt", "/workspace/d/a.txt", "/workspace//d//a.txt",
        "file:///workspace/d/a.txt", "sandbox:/workspace/d/a.txt"}) {
    Has("d/a.txt", "x");
    EXPECT_FALSE(IsToolError(Present(path))) << path;
    EXPECT_EQ(agent_.stat_file.requests().back().path(), "d/a.txt") << path;
  }
}

TEST_F(PresentFileTest, OfAFolderThatNoArchiveCanHoldItIsSaidAtOnce) {
  v1::FileInfo folder = File("big", 4096);
  folder.set_type(v1::FileInfo::DIRECTORY);
  agent_.stat_file.Answer(folder);
  v1::ListFilesResponse searched;
  searched.set_truncated(true);
  agent_.list_files.Answer(searched);
  const std::string text = TextOf(Present("big"));
  EXPECT_THAT(text, HasSubstr("It has no archive: it holds more than an archive can (50000 "));
  EXPECT_THAT(text, HasSubstr("\nbig, a folder, text/html. "));
  EXPECT_THAT(text, HasSubstr("A browser shows what is in the folder"));
  EXPECT_THAT(text, HasSubstr("pack it in the sandbox"));
  EXPECT_EQ(agent_.list_files.requests().back().pattern(), ".**") << "folders with a dot count";
  EXPECT_EQ(agent_.list_files.requests().back().path(), "big");
}

TEST_F(PresentFileTest, AFolderThatCannotBeSearchedNowIsLinkedAllTheSame) {
  v1::FileInfo folder = File("big", 4096);
  folder.set_type(v1::FileInfo::DIRECTORY);
  agent_.stat_file.Answer(folder);
  agent_.list_files.Fail(absl::DeadlineExceededError("slow disk"));
  const Reply reply = Present("big");
  EXPECT_FALSE(IsToolError(reply));
  EXPECT_THAT(TextOf(reply), EndsWith("/big.zip)"));
}

TEST_F(PresentFileTest, AFolderIsHandedOverAsAnArchive) {
  v1::FileInfo folder = File("my site", 4096);
  folder.set_type(v1::FileInfo::DIRECTORY);
  v1::ListFilesResponse searched;
  agent_.list_files.AnswerAlways([&](const auto&) { return searched; });
  agent_.stat_file.Answer(folder);
  const Reply reply = Present("my site");
  EXPECT_THAT(TextOf(reply), HasSubstr("\nmy site.zip, a folder as an archive, "));
  EXPECT_THAT(TextOf(reply), HasSubstr("curl gets the archive"));
  EXPECT_THAT(TextOf(reply), EndsWith("/my site.zip)"));
  const json::array blocks = Blocks(reply);
  ASSERT_EQ(blocks.size(), 2u);
  EXPECT_FALSE(blocks[1].as_object().contains("size"));
  EXPECT_TRUE(agent_.read_file.requests().empty());
  agent_.stat_file.Answer(folder);
  EXPECT_THAT(TextOf(Present("my site", R"(,"format":"tar")")), EndsWith("/my site.tar)"));
  EXPECT_THAT(TextOf(Present("my site", R"(,"format":"rar")")), HasSubstr("must be zip or tar"));
  folder.clear_path();
  agent_.stat_file.Answer(folder);
  EXPECT_THAT(TextOf(Present("/workspace")), HasSubstr("[workspace.zip]("));
}

TEST_F(PresentFileTest, ADeviceIsRefused) {
  v1::FileInfo fifo;
  fifo.set_type(v1::FileInfo::OTHER);
  agent_.stat_file.Answer(fifo);
  EXPECT_THAT(TextOf(Present("fifo")), HasSubstr("no regular file"));
}

TEST_F(PresentFileTest, AMissingFileIsAnsweredWithTheNearestNames) {
  agent_.stat_file.Fail(absl::NotFoundError("no"));
  v1::ListFilesResponse files;
  for (const std::string_view path : {"out/Report.pdf", "report.html", "data.csv", "repotr.pdf"}) {
    *files.add_files() = File(path, 1);
  }
  agent_.list_files.Answer(files);
  const Reply reply = Present("report.pdf");
  EXPECT_TRUE(IsToolError(reply));
  EXPECT_THAT(TextOf(reply), HasSubstr("There is no file report.pdf below /workspace: did you mean "
                                       "out/Report.pdf, report.html or repotr.pdf?"));
  EXPECT_THAT(TextOf(reply), Not(HasSubstr("data.csv")));
}

TEST_F(PresentFileTest, AMissingFileWithoutNeighboursSaysHowToLook) {
  agent_.stat_file.Fail(absl::NotFoundError("no"));
  agent_.list_files.Answer(v1::ListFilesResponse());
  EXPECT_THAT(TextOf(Present("report.pdf")), HasSubstr("list what there is with list_files"));
  agent_.stat_file.Fail(absl::NotFoundError("no"));
  agent_.list_files.Fail(absl::UnimplementedError("later"));
  EXPECT_THAT(TextOf(Present("report.pdf")), HasSubstr("There is no file report.pdf"));
  agent_.stat_file.Fail(absl::NotFoundError("no"));
  agent_.list_files.Fail(absl::NotFoundError("no sandbox"));
  EXPECT_THAT(TextOf(Present("report.pdf")), HasSubstr("has no files yet: check the label"));
}

TEST_F(PresentFileTest, AFileThatShrinksWhileItIsReadIsAnErrorThatSaysSo) {
  agent_.stat_file.Answer(File("log", 100));
  agent_.read_file.Fail(absl::DataLossError("shrank"));
  EXPECT_THAT(TextOf(Present("log")), HasSubstr("changed while it was read"));
}

}  // namespace
}  // namespace sandkeep::mcp
