// What real clients do that the protocol doesn't say, each test named after it. Those of the HTTP
// front and of signing in stand beside it, in files of this name.
#include <algorithm>
#include <set>

#include "common/limits.h"
#include "tests/unit/gateway/mcp/endpoint_test_base.h"

namespace sandkeep::mcp {
namespace {

using testing::HasSubstr;

class ClientQuirks : public EndpointTestBase {
 protected:
  ClientQuirks() {
    agent_.list_sandboxes.AnswerAlways([](const auto&) { return v1::ListSandboxesResponse(); });
  }
};

constexpr std::string_view kRun = R"("sandbox":"amber-otter-417","command":"true")";

TEST_F(ClientQuirks, CallsComeWithoutAnInitialize) {
  agent_.start_job.Answer({Started(), Exited(0)});
  EXPECT_FALSE(IsToolError(Ask(LegacyCall("run_command", kRun))));
}

TEST_F(ClientQuirks, AStaleSessionIdIsNoReasonToRefuseAnythingSinceFewClientsBeginAnew) {
  agent_.start_job.Answer({Started(), Exited(0)});
  const auto stale = [](Request request) {
    request.session = "0123456789abcdef0123456789abcdef";
    return request;
  };
  EXPECT_FALSE(IsToolError(Ask(stale(LegacyCall("run_command", kRun)))));
  EXPECT_EQ(Ask(stale(Legacy("tools/list"))).disposition, Disposition::kOk);
  const Reply begun = Ask(stale(Legacy("initialize", R"("protocolVersion":"2025-11-25")")));
  EXPECT_EQ(ErrorCode(begun), 0);
  EXPECT_FALSE(begun.session.empty());
  EXPECT_NE(begun.session, stale(Request(Legacy("ping"))).session);
}

TEST_F(ClientQuirks, ClaudeAiNamesItsNewestVersionInTheHeaderAfterAgreeingOnAnOlderOne) {
  for (const std::string_view version : {"2026-07-28", "2027-03-01"}) {
    for (Request request : {Legacy("tools/list"), Legacy("ping")}) {
      request.protocol_version = std::string(version);
      const Reply reply = Ask(std::move(request));
      EXPECT_EQ(reply.disposition, Disposition::kOk);
      EXPECT_EQ(ErrorCode(reply), 0);
      EXPECT_FALSE(ResultOf(reply).contains("resultType"));
    }
    Request initialized = Body(R"({"jsonrpc":"2.0","method":"notifications/initialized"})");
    initialized.protocol_version = std::string(version);
    EXPECT_EQ(Ask(std::move(initialized)).disposition, Disposition::kAccepted);
  }
}

TEST_F(ClientQuirks, InitializeIsNeverRefusedByItsHeader) {
  for (const std::string_view version : {"2026-07-28", "2024-11-05", "banana", ""}) {
    Request request = Legacy("initialize", R"("protocolVersion":"2025-06-18")");
    request.protocol_version = std::string(version);
    request.method = "initialize";
    EXPECT_EQ(ResultOf(Ask(std::move(request))).at("protocolVersion").as_string(), "2025-06-18");
  }
}

TEST_F(ClientQuirks, AnEraProbeIsAlwaysAnsweredWithItsId) {
  for (Request request :
       {Modern("server/discover", "", "\"probe\""), Legacy("server/discover", "", "\"probe\"")}) {
    for (const bool header : {true, false}) {
      if (!header) request.protocol_version.reset();
      const Reply reply = Ask(request);
      EXPECT_FALSE(reply.body.empty());
      EXPECT_EQ(Parsed(reply).at("id").as_string(), "probe");
    }
  }
}

TEST_F(ClientQuirks, ErrorsNeverHaveANullForAnId) {
  for (const std::string_view body :
       {"{", "[]", "{}", R"({"jsonrpc":"2.0","id":null,"method":"x"})"}) {
    EXPECT_FALSE(Parsed(Ask(Body(std::string(body)))).contains("id")) << body;
  }
}

TEST_F(ClientQuirks, N8nAddsArgumentsOfItsOwn) {
  agent_.start_job.Answer({Started(), Exited(0)});
  EXPECT_FALSE(IsToolError(Ask(LegacyCall(
      "run_command",
      StrCat(kRun, R"(,"toolCallId":"call_1","sessionId":"s","chatInput":"x","action":"y")")))));
}

TEST_F(ClientQuirks, ModelsExplainTheirCommandsInAnArgument) {
  agent_.start_job.Answer({Started(), Exited(0)});
  EXPECT_FALSE(
      IsToolError(Ask(LegacyCall("run_command", StrCat(kRun, R"(,"description":"runs it")")))));
}

TEST_F(ClientQuirks, OptionalArgumentsComeAsNull) {
  agent_.start_job.Answer({Started(), Exited(0)});
  EXPECT_FALSE(IsToolError(
      Ask(LegacyCall("run_command", StrCat(kRun, R"(,"timeout_seconds":null,"cwd":null)")))));
}

TEST_F(ClientQuirks, ResultsHaveNoStructuredContentSinceSomeClientsShowOnlyThat) {
  agent_.start_job.Answer({Started(), Exited(0)});
  EXPECT_THAT(Ask(ModernCall("run_command", kRun)).body,
              testing::Not(HasSubstr("structuredContent")));
}

TEST_F(ClientQuirks, LinksAreRepeatedInTheTextSinceBlocksOfLinksAreIgnored) {
  v1::FileInfo info;
  info.set_type(v1::FileInfo::REGULAR);
  agent_.stat_file.AnswerAlways([info](const auto&) { return info; });
  const std::string_view arguments = R"("sandbox":"amber-otter-417","path":"a.txt")";
  EXPECT_THAT(TextOf(Ask(ModernCall("present_file", arguments))),
              HasSubstr("](https://box.example/dl/"));
  Request oldest = LegacyCall("present_file", arguments);
  oldest.protocol_version.reset();
  // 2025-03-26 has no such block: a client of then would refuse the whole result.
  EXPECT_THAT(Ask(oldest).body, testing::Not(HasSubstr("resource_link")));
}

// Claude Desktop takes a result of one mebibyte, others end a conversation for good over a picture
// of more than 8000 pixels or 5 MB.
TEST_F(ClientQuirks, APictureIsSmallEnoughForEveryClientWhateverTheOperatorAllows) {
  settings_.image_max_bytes = 16 << 20;
  v1::FileInfo info;
  info.set_type(v1::FileInfo::REGULAR);
  info.set_path("a.jpg");
  info.set_size(9'000'000);
  agent_.stat_file.Answer(info);
  v1::FileChunk head;
  head.set_data("\xFF\xD8\xFF\xE0 and so on..");  // As many bytes as are asked for.
  agent_.read_file.Answer({head});
  agent_.render_image.Fail(absl::InvalidArgumentError("it is damaged"));
  const std::string body =
      Ask(ModernCall("present_file", R"("sandbox":"amber-otter-417","path":"a.jpg")")).body;
  ASSERT_EQ(agent_.render_image.requests().size(), 1u);
  EXPECT_LE(agent_.render_image.requests()[0].max_px(), 2000u);
  EXPECT_LE(agent_.render_image.requests()[0].max_bytes() * 4 / 3, 1 << 20) << "as base64";
  EXPECT_THAT(body, testing::Not(HasSubstr(R"("type":"image")")))
      << "what can't be decoded isn't sent";
}

TEST_F(ClientQuirks, ALargeResultIsAnnouncedSoThatClaudeCodeDoesNotCutIt) {
  for (const char* profile : {"conversation", "persistent"}) {
    agent_.get_info.AnswerAlways([profile](const auto&) {
      v1::Info info = HostFacts();
      info.set_profile(profile);
      return info;
    });
    clock_.Advance(absl::Hours(1));
    Ask(Legacy("tools/list"));
    const json::array tools = ResultOf(Ask(Legacy("tools/list"))).at("tools").as_array();
    const auto announced =
        tools[0].at("_meta").at("anthropic/maxResultSizeChars").to_number<std::int64_t>();
    EXPECT_GT(announced, static_cast<std::int64_t>(settings_.max_output_bytes)) << profile;
    EXPECT_LE(announced, 500'000) << profile << ": it takes no more than that";
  }
}

// Whether it shows progress or not: only few clients wait longer for that.
TEST_F(ClientQuirks, ACallComesBackBeforeTheSixtySecondsAfterWhichManyClientsGiveUp) {
  for (const std::string_view tool : {"run_command", "wait_command"}) {
    const json::array tools = ResultOf(Ask(Legacy("tools/list"))).at("tools").as_array();
    const auto* const listed = std::find_if(tools.begin(), tools.end(), [tool](const auto& one) {
      return std::string_view(one.at("name").as_string()) == tool;
    });
    ASSERT_NE(listed, tools.end());
    const json::value& wait = listed->at("inputSchema").at("properties").at("wait_seconds");
    EXPECT_THAT(std::string(wait.at("description").as_string()),
                HasSubstr(StrCat(kDefaultWait.count(), " if left out")));
  }
  EXPECT_LE(kDefaultWait, std::chrono::seconds(50));
  EXPECT_LT(kMaxWait, std::chrono::seconds(300)) << "the most patient ones' limit";
}

TEST_F(ClientQuirks, AnEmptyCursorIsTheFirstPage) {
  for (const std::string_view cursor : {"null", "\"\""}) {
    EXPECT_EQ(ErrorCode(Ask(Legacy("tools/list", StrCat(R"("cursor":)", cursor)))), 0);
  }
}

TEST_F(ClientQuirks, IdsStartAtZeroInEveryClient) {
  const Reply reply = Ask(Legacy("ping", "", "0"));
  EXPECT_EQ(reply.body, R"({"jsonrpc":"2.0","id":0,"result":{}})");
}

}  // namespace
}  // namespace sandkeep::mcp
