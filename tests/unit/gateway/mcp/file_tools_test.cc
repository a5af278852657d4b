// write_file, read_file, edit_file, list_files and delete_file.

#include "tests/unit/gateway/mcp/endpoint_test_base.h"

namespace sandkeep::mcp {
namespace {

using testing::HasSubstr;
using testing::StartsWith;
using namespace std::string_view_literals;

constexpr std::string_view kFacts = "[sandbox amber-otter-417]";

class FileToolsTest : public EndpointTestBase {
 protected:
  Reply Use(std::string_view tool, std::string_view more) {
    return Ask(ModernCall(tool, StrCat(R"("sandbox":"amber otter 417",)", more)));
  }

  static v1::FileInfo File(std::string_view path, std::string_view bytes) {
    v1::FileInfo info;
    info.set_path(std::string(path));
    info.set_type(v1::FileInfo::REGULAR);
    info.set_size(static_cast<std::int64_t>(bytes.size()));
    info.set_etag("etag-of-22-characters.");
    return info;
  }
  void Has(std::string_view path, std::string_view bytes) {
    agent_.stat_file.Answer(File(path, bytes));
    v1::FileChunk chunk;
    chunk.set_data(std::string(bytes));
    agent_.read_file.Answer({chunk});
  }
  static v1::WriteFileResponse Written(std::int64_t size, bool created = false) {
    v1::WriteFileResponse response;
    response.mutable_info()->set_size(size);
    response.set_created(created);
    return response;
  }
  const FakeFileWrites::Written Sent(std::size_t at = 0) {
    return agent_.write_file.calls.requests().at(at);
  }
  static std::string Second(const Reply& reply) {
    return std::string(ResultOf(reply).at("content").as_array().at(1).at("text").as_string());
  }
};

TEST_F(FileToolsTest, WritesExactlyWhatIsGiven) {
  agent_.write_file.calls.Answer(Written(8, true));
  const Reply reply = Use("write_file", R"("path":"/workspace/d/a.txt","content":"ä\r\nb\u0000c")");
  EXPECT_EQ(TextOf(reply), StrCat(kFacts, "\nMade d/a.txt, 8 bytes."));
  EXPECT_EQ(Sent().data, "\u00e4\r\nb\0c"sv);
  EXPECT_EQ(Sent().header.path(), "d/a.txt");
  EXPECT_EQ(Sent().header.size(), 7);
  EXPECT_TRUE(Sent().header.make_parents());
  EXPECT_FALSE(Sent().header.append());
}

TEST_F(FileToolsTest, AFirstWriteMakesTheSandboxAndSaysSo) {
  v1::WriteFileResponse response = Written(1, true);
  response.set_new_sandbox(true);
  agent_.write_file.calls.Answer(response);
  EXPECT_THAT(TextOf(Use("write_file", R"("path":"a","content":"x")")),
              StartsWith(StrCat(kFacts, " [new]\n")));
}

TEST_F(FileToolsTest, TakesBytesAsBase64AndNoGarbledOnes) {
  agent_.write_file.calls.Answer(Written(3));
  EXPECT_THAT(TextOf(Use("write_file", R"("path":"a","content":"AAH/","encoding":"base64")")),
              HasSubstr("Replaced a, 3 bytes."));
  EXPECT_EQ(Sent().data, "\0\1\xff"sv);
  for (const std::string_view bad : {"AAH", "AA H", "A_H/"}) {
    EXPECT_THAT(TextOf(Use("write_file",
                           StrCat(R"("path":"a","encoding":"base64","content":")", bad, "\""))),
                HasSubstr("no base64"));
  }
  EXPECT_TRUE(IsToolError(Use("write_file", R"("path":"a","content":"x","encoding":"rot13")")));
}

TEST_F(FileToolsTest, AnAppendThatMeetsAnotherWriterIsTriedAgain) {
  agent_.write_file.calls.Fail(absl::AbortedError("another"));
  agent_.write_file.calls.Answer(Written(9));
  EXPECT_THAT(TextOf(Use("write_file", R"("path":"log","content":"x","append":true)")),
              HasSubstr("Appended to log"));
  EXPECT_TRUE(Sent(1).header.append());
}

TEST_F(FileToolsTest, AWriteWithoutContentOrToTheWorkspaceItselfIsRefused) {
  EXPECT_THAT(TextOf(Use("write_file", R"("path":"a")")), HasSubstr("content is missing"));
  EXPECT_TRUE(IsToolError(Use("write_file", R"("path":"/workspace","content":"x")")));
  EXPECT_TRUE(IsToolError(Use("write_file", R"("path":"../a","content":"x")")));
  EXPECT_THAT(TextOf(Use("write_file", R"("path":"/etc/passwd","content":"x")")),
              HasSubstr("Only files below /workspace"));
  EXPECT_TRUE(agent_.write_file.calls.requests().empty());
}

TEST_F(FileToolsTest, ReadsATextAsItIs) {
  Has("a.txt", "one\r\ntwo\nthree");
  const Reply reply = Use("read_file", R"("path":"a.txt")");
  EXPECT_EQ(TextOf(reply),
            StrCat(kFacts, "\na.txt, 14 bytes, 3 lines\nnote: no line feed at the end"));
  EXPECT_EQ(Second(reply), "one\r\ntwo\nthree");
}

TEST_F(FileToolsTest, ReadsSomeLinesAndSaysHowToGoOn) {
  Has("a.txt", "1\n2\n3\n4\n");
  const Reply reply = Use("read_file", R"("path":"a.txt","offset":2,"limit":2)");
  EXPECT_THAT(TextOf(reply), HasSubstr("lines 2 to 3\nnote: there is more: read on with offset 4"));
  EXPECT_EQ(Second(reply), "2\n3\n");
  Has("a.txt", "1\n2\n3\n4\n");
  const Reply rest = Use("read_file", R"("path":"a.txt","offset":4)");
  EXPECT_THAT(TextOf(rest), HasSubstr("lines 4 to 4, the last"));
  Has("a.txt", "1\n2\n");
  EXPECT_THAT(TextOf(Use("read_file", R"("path":"a.txt","offset":9)")), HasSubstr("has 2 lines"));
}

TEST_F(FileToolsTest, ALongTextIsCutWhereAResultEnds) {
  Has("a.txt", std::string(settings_.max_output_bytes + 10, 'x'));
  const Reply reply = Use("read_file", R"("path":"a.txt")");
  EXPECT_THAT(TextOf(reply), HasSubstr("line 1 goes on"));
  EXPECT_EQ(Second(reply).size(), settings_.max_output_bytes);
}

TEST_F(FileToolsTest, SaysThatAFileIsNoText) {
  Has("a.bin",
      "\x7f"
      "ELF\0\1"sv);
  EXPECT_THAT(TextOf(Use("read_file", R"("path":"a.bin")")),
              HasSubstr("binary, 6 bytes, beginning with 7f 45 4c 46 00 01: hand it to"));
  Has("l.txt", "caf\xe9 and a long tail of good letters");
  const Reply reply = Use("read_file", R"("path":"l.txt")");
  EXPECT_THAT(TextOf(reply), HasSubstr("shown as U+FFFD"));
}

TEST_F(FileToolsTest, AFolderOrAMissingFileIsAnsweredWithWhatHelps) {
  v1::FileInfo folder;
  folder.set_type(v1::FileInfo::DIRECTORY);
  agent_.stat_file.Answer(folder);
  EXPECT_THAT(TextOf(Use("read_file", R"("path":"d")")), HasSubstr("list it with list_files"));
  agent_.stat_file.Fail(absl::NotFoundError("no"));
  v1::ListFilesResponse near;
  *near.add_files() = File("main.py", "x");
  agent_.list_files.Answer(near);
  EXPECT_THAT(TextOf(Use("read_file", R"("path":"mian.py")")), HasSubstr("did you mean main.py?"));
}

TEST_F(FileToolsTest, EditsWhatIsThereNowAndNothingElse) {
  Has("a.txt", "one\r\ntwo\r\nlast");
  agent_.write_file.calls.Answer(Written(16));
  const Reply reply = Use("edit_file", R"("path":"a.txt","old_text":"two","new_text":"zwei")");
  EXPECT_EQ(TextOf(reply), StrCat(kFacts, "\nReplaced at line 2 of a.txt."));
  EXPECT_EQ(Sent().data, "one\r\nzwei\r\nlast");
  EXPECT_EQ(Sent().header.if_etag(), "etag-of-22-characters.");
}

TEST_F(FileToolsTest, AnEditThatMeetsAnotherOneBeginsAnew) {
  Has("a.txt", "one");
  agent_.write_file.calls.Fail(absl::AbortedError("another"));
  Has("a.txt", "one two");
  agent_.write_file.calls.Answer(Written(7));
  EXPECT_FALSE(IsToolError(Use("edit_file", R"("path":"a.txt","old_text":"one","new_text":"1")")));
  EXPECT_EQ(Sent(1).data, "1 two");
}

TEST_F(FileToolsTest, AnEditThatCantBeMadeWritesNothing) {
  Has("a.txt", "x x");
  EXPECT_THAT(TextOf(Use("edit_file", R"("path":"a.txt","old_text":"x","new_text":"y")")),
              HasSubstr("more than once, at lines 1, 1"));
  Has("a.txt", "x x");
  EXPECT_TRUE(IsToolError(Use("edit_file", R"("path":"a.txt","old_text":"z","new_text":"y")")));
  EXPECT_TRUE(agent_.write_file.calls.requests().empty());
}

TEST_F(FileToolsTest, ListsTheNewestFirstWithSizeAndTime) {
  v1::ListFilesResponse files;
  v1::FileInfo& first = *files.add_files();
  first = File("out/a.csv", std::string(1234, 'x'));
  first.set_modified_ms(1'700'000'000'000);
  v1::FileInfo& second = *files.add_files();
  second.set_path("out/sub\nline");
  second.set_type(v1::FileInfo::DIRECTORY);
  files.set_truncated(true);
  agent_.list_files.Answer(files);
  EXPECT_EQ(TextOf(Use("list_files", R"("path":"out","pattern":"**")")),
            StrCat(kFacts,
                   "\nnote: these 2 are the last changed of many: name a folder or a narrower "
                   "pattern for others\n"
                   "2023-11-14 22:13:20  1.2 kB  out/a.csv\n"
                   "1970-01-01 00:00:00  folder  out/sub line/\n"));
  const auto request = agent_.list_files.requests().front();
  EXPECT_TRUE(request.newest_first());
  EXPECT_EQ(request.pattern(), "**");
  agent_.list_files.Answer(v1::ListFilesResponse());
  EXPECT_THAT(TextOf(Use("list_files", R"("pattern":"*.x")")), HasSubstr("Nothing matches."));
}

TEST_F(FileToolsTest, DeletesAndSaysHowMuch) {
  v1::DeleteFileResponse response;
  response.set_removed(3);
  agent_.delete_file.Answer(response);
  EXPECT_EQ(TextOf(Use("delete_file", R"("path":"d","recursive":true)")),
            StrCat(kFacts, "\nDeleted d with 2 entries in it."));
  EXPECT_TRUE(agent_.delete_file.requests().front().recursive());
  EXPECT_TRUE(IsToolError(Use("delete_file", R"("path":".")")));
}

}  // namespace
}  // namespace sandkeep::mcp
