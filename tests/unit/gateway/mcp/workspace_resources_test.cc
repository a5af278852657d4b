// The files of a person's sandboxes as resources.
#include "gateway/mcp/workspace_resources.h"

#include "tests/unit/gateway/mcp/endpoint_test_base.h"

namespace sandkeep::mcp {
namespace {

using namespace std::string_view_literals;

class WorkspaceResourcesTest : public EndpointTestBase {
 protected:
  WorkspaceResourcesTest() {
    settings_.mime_type_of = [](std::string_view) { return "text/plain"; };
    registry_.resources.push_back(std::make_unique<WorkspaceResources>(agent_, settings_));
  }

  void HasSandboxes(std::initializer_list<std::string> labels) {
    v1::ListSandboxesResponse known;
    for (const std::string& label : labels) known.add_sandboxes()->set_label(label);
    agent_.list_sandboxes.Answer(known);
  }
  static v1::FileInfo File(std::string path, std::int64_t size) {
    v1::FileInfo info;
    info.set_path(std::move(path));
    info.set_type(v1::FileInfo::REGULAR);
    info.set_size(size);
    return info;
  }
  json::object Read(std::string_view uri) {
    return json::parse(Ask(Legacy("resources/read", StrCat(R"("uri":")", uri, "\""))).body)
        .as_object();
  }
};

TEST_F(WorkspaceResourcesTest, ListsTheLastChangedOfEachSandboxAPageEach) {
  HasSandboxes({"amber", "blue"});
  v1::ListFilesResponse files;
  *files.add_files() = File("out/a b%.txt", 7);
  files.add_files()->set_type(v1::FileInfo::DIRECTORY);
  agent_.list_files.Answer(files);
  const json::object first = ResultOf(Ask(Legacy("resources/list")));
  const json::array& listed = first.at("resources").as_array();
  ASSERT_EQ(listed.size(), 1u);
  EXPECT_EQ(listed[0].at("uri").as_string(), "sandkeep://amber/out/a%20b%25.txt");
  EXPECT_EQ(listed[0].at("name").as_string(), "out/a b%.txt");
  EXPECT_EQ(listed[0].at("size").as_int64(), 7);
  EXPECT_TRUE(first.contains("nextCursor"));
}

TEST_F(WorkspaceResourcesTest, ReadsTextAndBytes) {
  agent_.stat_file.Answer(File("a b.txt", 3));
  v1::FileChunk chunk;
  chunk.set_data("abc");
  agent_.read_file.Answer({chunk});
  const json::object text = Read("sandkeep://amber/a%20b.txt");
  EXPECT_EQ(text.at("result").at("contents").at(0).at("text").as_string(), "abc");
  EXPECT_EQ(agent_.stat_file.requests()[0].path(), "a b.txt");
  EXPECT_EQ(agent_.stat_file.requests()[0].sandbox().label(), "amber");
  agent_.stat_file.Answer(File("a.bin", 2));
  chunk.set_data(std::string("\0\xff"sv));
  agent_.read_file.Answer({chunk});
  const json::object bytes = Read("sandkeep://amber/a.bin");
  EXPECT_EQ(bytes.at("result").at("contents").at(0).at("blob").as_string(), "AP8=");
}

TEST_F(WorkspaceResourcesTest, WhatIsNoFileOfThisPersonIsNotThere) {
  for (const std::string_view uri :
       {"sandkeep://amber", "sandkeep://amber/", "sandkeep://amber/../x", "sandkeep://amber/%zz",
        "sandkeep://amber/a%00b", "file:///etc/passwd"}) {
    EXPECT_EQ(Read(uri).at("error").at("code").as_int64(), -32002) << uri;
  }
  EXPECT_TRUE(agent_.stat_file.requests().empty());
  agent_.stat_file.Fail(absl::NotFoundError("no"));
  EXPECT_TRUE(Read("sandkeep://amber/gone").contains("error"));
  v1::FileInfo folder;
  folder.set_type(v1::FileInfo::DIRECTORY);
  agent_.stat_file.Answer(folder);
  EXPECT_TRUE(Read("sandkeep://amber/folder").contains("error"));
}

}  // namespace
}  // namespace sandkeep::mcp
