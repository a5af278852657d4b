// What clients are told before they call anything.
#include <regex>
#include <set>

#include "gateway/mcp/catalog.h"
#include "gateway/mcp/workspace_resources.h"
#include "tests/unit/gateway/mcp/endpoint_test_base.h"

namespace sandkeep::mcp {
namespace {

class Handshake : public EndpointTestBase {};

// One bad name or schema makes some clients drop all tools.
void ExpectNoClientDropsIt(const json::value& tool) {
  const std::string name(tool.at("name").as_string());
  SCOPED_TRACE(name);
  EXPECT_TRUE(std::regex_match(name, std::regex("[a-z0-9_]{1,40}")));
  EXPECT_FALSE(tool.at("title").as_string().empty());
  EXPECT_FALSE(tool.at("description").as_string().empty());
  EXPECT_FALSE(tool.as_object().contains("outputSchema"));
  const json::object schema = tool.at("inputSchema").as_object();
  EXPECT_EQ(schema.at("type").as_string(), "object");
  EXPECT_TRUE(schema.at("properties").is_object());
  EXPECT_FALSE(schema.at("additionalProperties").as_bool());
  for (const char* composed : {"anyOf", "oneOf", "allOf", "$ref"}) {
    EXPECT_FALSE(schema.contains(composed));
  }
  for (const char* hint : {"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"}) {
    EXPECT_TRUE(tool.at("annotations").at(hint).is_bool()) << hint;
  }
}

TEST_F(Handshake, InitializeAgreesOnTheClientsVersionOrTheNewestOlderOne) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"2025-11-25", "2025-11-25"}, {"2025-06-18", "2025-06-18"}, {"2025-03-26", "2025-03-26"},
      {"2024-11-05", "2025-11-25"}, {"2026-07-28", "2025-11-25"}, {"banana", "2025-11-25"}};
  for (const auto& [asked, agreed] : cases) {
    const json::object result = ResultOf(Ask(
        Legacy("initialize", StrCat(R"("protocolVersion":")", asked, R"(","capabilities":{})"))));
    EXPECT_EQ(std::string_view(result.at("protocolVersion").as_string()), agreed) << asked;
    EXPECT_EQ(json::serialize(result.at("capabilities")), R"({"tools":{}})");
    EXPECT_EQ(result.at("serverInfo").at("name").as_string(), "sandkeep");
    EXPECT_TRUE(result.contains("instructions"));
    EXPECT_FALSE(result.contains("resultType"));
  }
  EXPECT_EQ(ResultOf(Ask(Legacy("initialize"))).at("protocolVersion").as_string(), "2025-11-25");
}

TEST_F(Handshake, DiscoverySaysWhatIsServed) {
  const json::object result = ResultOf(Ask(Modern("server/discover")));
  EXPECT_EQ(json::serialize(result.at("supportedVersions")), R"(["2026-07-28"])");
  EXPECT_TRUE(result.at("capabilities").as_object().contains("tools"));
  EXPECT_EQ(result.at("resultType").as_string(), "complete");
  EXPECT_GE(result.at("ttlMs").as_int64(), 0);
  EXPECT_EQ(result.at("cacheScope").as_string(), "private");
  const json::object info = result.at("_meta").at("io.modelcontextprotocol/serverInfo").as_object();
  EXPECT_EQ(info.at("name").as_string(), "sandkeep");
  EXPECT_EQ(info.at("version").as_string(), SANDKEEP_VERSION);
}

TEST_F(Handshake, EveryToolIsListedSoThatNoClientDropsIt) {
  for (const Request& request : {Legacy("tools/list"), Modern("tools/list")}) {
    const json::array tools = ResultOf(Ask(request)).at("tools").as_array();
    std::vector<std::string> names;
    for (const json::value& tool : tools) {
      names.emplace_back(tool.at("name").as_string());
      ExpectNoClientDropsIt(tool);
    }
    EXPECT_THAT(names, testing::ElementsAre("run_command", "wait_command", "read_output",
                                            "send_input", "stop_command", "write_file", "read_file",
                                            "edit_file", "list_files", "delete_file",
                                            "present_file", "sandbox_info", "remove_sandbox"));
  }
}

// What a model is told before its first call: how a sandbox is named, what stays, and that the
// person sees nothing of it.
TEST_F(Handshake, TheInstructionsSayHowToNameASandboxAndHowThePersonSeesAnything) {
  for (const Reply& reply : {Ask(Legacy("initialize")), Ask(Modern("server/discover"))}) {
    const std::string text(ResultOf(reply).at("instructions").as_string());
    for (const char* words :
         {"one sandbox for each conversation", "new label", "two random words and three random",
          "exactly this label in every call", "Files below /workspace persist",
          "Nobody outside can reach a port", "present_file", "as a picture"}) {
      EXPECT_THAT(text, testing::HasSubstr(words));
    }
  }
}

TEST_F(Handshake, TheDescriptionOfRunCommandSaysWhatStaysWhatIsLostAndWhatNobodySees) {
  const json::array tools = ResultOf(Ask(Legacy("tools/list"))).at("tools").as_array();
  const json::value& run = tools.at(0);
  ASSERT_EQ(run.at("name").as_string(), "run_command");
  const std::string text(run.at("description").as_string());
  for (const char* words :
       {"Files below /workspace persist", "idle for long loses what runs in it first",
        "packages and files elsewhere", "exported variables don't carry over",
        "Nobody outside can reach a port", "present_file", "screenshot", "wait_command"}) {
    EXPECT_THAT(text, testing::HasSubstr(words));
  }
  const json::value& sandbox = run.at("inputSchema").at("properties").at("sandbox");
  const std::string label(sandbox.at("description").as_string());
  EXPECT_THAT(label, testing::HasSubstr("Make it up once"));
  EXPECT_THAT(label, testing::HasSubstr("the same label in every call"));
}

TEST_F(Handshake, ModernListsAreCacheableAndOlderOnesArePlain) {
  const json::object modern = ResultOf(Ask(Modern("tools/list")));
  EXPECT_EQ(modern.at("resultType").as_string(), "complete");
  EXPECT_EQ(modern.at("cacheScope").as_string(), "private");
  EXPECT_TRUE(modern.at("ttlMs").is_int64());
  EXPECT_TRUE(modern.at("_meta").is_object());
  const json::object legacy = ResultOf(Ask(Legacy("tools/list")));
  EXPECT_EQ(legacy.size(), 1u);
}

TEST_F(Handshake, DescriptionsNameTheHostsLimitsOnceTheyAreKnown) {
  agent_.get_info.AnswerAlways(nullptr);
  agent_.get_info.Fail(absl::UnavailableError("down"));
  EXPECT_THAT(Ask(Legacy("tools/list")).body, testing::HasSubstr("as long as the server allows"));
  clock_.Advance(absl::Seconds(10));
  agent_.get_info.Answer(HostFacts());
  const std::string known = Ask(Legacy("tools/list")).body;
  EXPECT_THAT(known, testing::HasSubstr("At most 900"));
  EXPECT_THAT(known, testing::HasSubstr("no private network"));
  EXPECT_EQ(Ask(Legacy("tools/list")).body, known);
}

TEST_F(Handshake, ListingCostsNoCallOfTheAgent) {
  for (int i = 0; i < 100; ++i) Ask(Modern("tools/list"));
  EXPECT_EQ(agent_.get_info.requests().size(), 1u);
  clock_.Advance(absl::Seconds(61));
  Ask(Modern("tools/list"));
  EXPECT_EQ(agent_.get_info.requests().size(), 2u);
}

TEST_F(Handshake, AnAgentThatDoesNotAnswerDoesNotHoldUpEveryListing) {
  agent_.get_info.AnswerAlways(nullptr);
  agent_.get_info.Hang();
  const auto first = Start(Modern("tools/list"));
  EXPECT_FALSE(first->done());
  EXPECT_EQ(Ask(Modern("tools/list", "", "2")).disposition, Disposition::kOk);
  first->Close();
  Pump();
  EXPECT_TRUE(first->done());
}

// Pages can be opened, and nothing comes by them.
class EmptyDesk : public UploadDesk {
 public:
  Async<OpenedUpload> Open(UploadRequest) override {
    co_return OpenedUpload{.name = "up1", .path = "/up/x/", .lifetime = std::chrono::seconds(60)};
  }
  Async<UploadView> Wait(std::string, std::string, std::string,
                         std::chrono::steady_clock::time_point) override {
    co_return absl::NotFoundError("there is no such upload");
  }
};

class LabelsInTexts : public EndpointTestBase {
 protected:
  LabelsInTexts() {
    settings_.uploads = &desk_;
    registry_.resources.push_back(std::make_unique<WorkspaceResources>(agent_, settings_));
    agent_.list_sandboxes.AnswerAlways([](const auto&) { return v1::ListSandboxesResponse(); });
  }

  std::string Handshakes() {
    std::string all;
    for (const std::string_view method :
         {"initialize", "tools/list", "resources/list", "resources/templates/list"}) {
      all += Ask(Legacy(method)).body;
    }
    for (const std::string_view method :
         {"server/discover", "tools/list", "resources/list", "resources/templates/list"}) {
      all += Ask(Modern(method)).body;
    }
    return all;
  }

  EmptyDesk desk_;
};

// Every tool there is, in both profiles.
class EveryListing : public LabelsInTexts {
 protected:
  json::array ToolsOf(const char* profile) {
    agent_.get_info.AnswerAlways([profile](const auto&) {
      v1::Info info = HostFacts();
      info.set_profile(profile);
      return info;
    });
    clock_.Advance(absl::Hours(1));
    Ask(Legacy("tools/list"));
    return ResultOf(Ask(Legacy("tools/list"))).at("tools").as_array();
  }
};

TEST_F(EveryListing, HasNoToolForWhichAClientDropsAll) {
  for (const char* profile : {"conversation", "persistent"}) {
    const json::array tools = ToolsOf(profile);
    ASSERT_GE(tools.size(), 15u) << profile;
    for (const json::value& tool : tools) ExpectNoClientDropsIt(tool);
  }
}

// So that a person may allow them always.
TEST_F(EveryListing, ToolsThatOnlyLookSaySo) {
  const std::set<std::string_view> looking = {"wait_command", "read_output",  "read_file",
                                              "list_files",   "sandbox_info", "wait_upload"};
  for (const char* profile : {"conversation", "persistent"}) {
    std::size_t seen = 0;
    for (const json::value& tool : ToolsOf(profile)) {
      const json::object& hints = tool.at("annotations").as_object();
      const std::string_view name = tool.at("name").as_string();
      EXPECT_EQ(hints.at("readOnlyHint").as_bool(), looking.count(name) == 1) << name;
      if (looking.count(name) == 0) continue;
      ++seen;
      EXPECT_FALSE(hints.at("destructiveHint").as_bool()) << name;
      EXPECT_FALSE(hints.at("openWorldHint").as_bool()) << name;
    }
    EXPECT_EQ(seen, looking.size()) << profile;
  }
}

// A label that stands anywhere is the label that every model takes.
TEST_F(LabelsInTexts, NoneHasOneThatAModelCouldCopy) {
  std::string all = Handshakes();
  const json::array tools = ResultOf(Ask(Legacy("tools/list"))).at("tools").as_array();
  ASSERT_GE(tools.size(), 15u);
  for (const json::value& tool : tools) {
    const std::string_view name = tool.at("name").as_string();
    for (const std::string_view arguments :
         {"", R"("sandbox":"!!!")", R"("sandbox":7)", R"("label":"x")", R"("sandbox":"x7")"}) {
      all += Ask(LegacyCall(name, arguments)).body;
    }
  }
  agent_.get_info.AnswerAlways([](const auto&) {
    v1::Info info = HostFacts();
    info.set_profile("persistent");
    return info;
  });
  clock_.Advance(absl::Hours(1));
  Ask(Legacy("tools/list"));
  all += Handshakes();
  ASSERT_THAT(all, testing::HasSubstr("share_file")) << "the other profile's texts, too";
  // No hyphenated words at all, but for our own names: that can be checked.
  const std::set<std::string> known = {"sandkeep-agent", "base64"};
  const std::regex label("[a-z]{2,}-[a-z0-9]{2,}|[a-z]{3,}[0-9]{2,}");
  for (std::sregex_iterator it(all.begin(), all.end(), label), end; it != end; ++it) {
    EXPECT_EQ(known.count(it->str()), 1u) << it->str();
  }
}

}  // namespace
}  // namespace sandkeep::mcp
