// What is refused before any method is looked at, in the protocol's order, and what is let through.
#include "tests/unit/gateway/mcp/endpoint_test_base.h"

namespace sandkeep::mcp {
namespace {

constexpr std::string_view kAbsent = "(absent)";

struct Rung {
  std::string_view name;
  std::string_view body;
  std::string_view version = kAbsent;
  std::string_view method = kAbsent;
  std::string_view tool = kAbsent;
  Disposition disposition = Disposition::kOk;
  std::int64_t code = 0;
};

std::optional<std::string> Header(std::string_view value) {
  if (value == kAbsent) return std::nullopt;
  return std::string(value);
}

#define META(version)                                               \
  R"("_meta":{"io.modelcontextprotocol/protocolVersion":")" version \
  R"(","io.modelcontextprotocol/clientCapabilities":{}})"
#define MODERN(method) \
  R"({"jsonrpc":"2.0","id":7,"method":")" method R"(","params":{)" META("2026-07-28") "}}"
#define LEGACY(method) R"({"jsonrpc":"2.0","id":7,"method":")" method R"(","params":{}})"

constexpr std::string_view kNow = "2026-07-28";
constexpr auto kBad = Disposition::kBadRequest;

const Rung kRungs[] = {
    // Shape before era.
    {"not JSON", "{", kNow, "tools/list", kAbsent, kBad, -32700},
    {"no message", "{}", kNow, "tools/list", kAbsent, kBad, -32600},
    {"array with a modern element", "[" MODERN("tools/list") "]", kAbsent, kAbsent, kAbsent, kBad,
     -32600},
    {"array under a modern header", "[" LEGACY("ping") "]", kNow, kAbsent, kAbsent, kBad, -32600},
    {"array with an invalid element", "[" LEGACY("ping") ",7]", kAbsent, kAbsent, kAbsent, kBad,
     -32600},
    {"array of legacy elements", "[" LEGACY("ping") "]"},
    {"array under a version of no kind", "[" LEGACY("ping") "]", "banana", kAbsent, kAbsent, kBad,
     -32022},
    // A malformed claim.
    {"claim is no string",
     R"({"jsonrpc":"2.0","id":7,"method":"tools/list","params":{"_meta":)"
     R"({"io.modelcontextprotocol/protocolVersion":7,)"
     R"("io.modelcontextprotocol/clientCapabilities":{}}}})",
     kNow, "tools/list", kAbsent, kBad, -32602},
    {"capabilities missing",
     R"({"jsonrpc":"2.0","id":7,"method":"server/discover","params":{"_meta":)"
     R"({"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}})",
     kNow, "server/discover", kAbsent, kBad, -32602},
    {"capabilities are no object",
     R"({"jsonrpc":"2.0","id":7,"method":"server/discover","params":{"_meta":)"
     R"({"io.modelcontextprotocol/protocolVersion":"2026-07-28",)"
     R"("io.modelcontextprotocol/clientCapabilities":[]}}})",
     kNow, "server/discover", kAbsent, kBad, -32602},
    {"no _meta under a modern header", LEGACY("server/discover"), kNow, "server/discover", kAbsent,
     kBad, -32602},
    {"no _meta, and the headers of a modern request", LEGACY("tools/list"), kNow, "tools/list",
     kAbsent, kBad, -32602},
    {"_meta without a version",
     R"({"jsonrpc":"2.0","id":7,"method":"tools/list","params":{"_meta":)"
     R"({"io.modelcontextprotocol/clientCapabilities":{}}}})",
     kNow, kAbsent, kAbsent, kBad, -32602},
    {"a malformed claim comes before a differing header",
     R"({"jsonrpc":"2.0","id":7,"method":"tools/list","params":{"_meta":)"
     R"({"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}})",
     "2025-11-25", "tools/list", kAbsent, kBad, -32602},
    // Header against body, before whether the version is served.
    {"version differs", MODERN("tools/list"), "2025-11-25", "tools/list", kAbsent, kBad, -32020},
    {"unknown version differs",
     R"({"jsonrpc":"2.0","id":7,"method":"server/discover","params":{)" META("v999.0.0") "}}", kNow,
     "server/discover", kAbsent, kBad, -32020},
    {"method differs", MODERN("tools/list"), kNow, "prompts/list", kAbsent, kBad, -32020},
    {"method differs in case", MODERN("tools/list"), kNow, "TOOLS/LIST", kAbsent, kBad, -32020},
    // Not served.
    {"unknown version",
     R"({"jsonrpc":"2.0","id":7,"method":"server/discover","params":{)" META("v999.0.0") "}}",
     "v999.0.0", "server/discover", kAbsent, kBad, -32022},
    {"a later version",
     R"({"jsonrpc":"2.0","id":7,"method":"tools/list","params":{)" META("2027-01-01") "}}",
     "2027-01-01", "tools/list", kAbsent, kBad, -32022},
    {"an older version by the newer mechanism",
     R"({"jsonrpc":"2.0","id":7,"method":"tools/list","params":{)" META("2025-11-25") "}}",
     "2025-11-25", "tools/list", kAbsent, kBad, -32022},
    {"an unknown version comes before a missing header",
     R"({"jsonrpc":"2.0","id":7,"method":"tools/list","params":{)" META("2027-01-01") "}}", kAbsent,
     kAbsent, kAbsent, kBad, -32022},
    // Standard headers.
    {"version header missing", MODERN("tools/list"), kAbsent, "tools/list", kAbsent, kBad, -32020},
    {"method header missing", MODERN("tools/list"), kNow, kAbsent, kAbsent, kBad, -32020},
    {"name header missing",
     R"({"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"x",)" META(
         "2026-07-28") "}}",
     kNow, "tools/call", kAbsent, kBad, -32020},
    {"name differs",
     R"({"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"x",)" META(
         "2026-07-28") "}}",
     kNow, "tools/call", "y", kBad, -32020},
    {"name is encoded and differs",
     R"({"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"x",)" META(
         "2026-07-28") "}}",
     kNow, "tools/call", "=?base64?eQ==?=", kBad, -32020},
    {"name is badly encoded",
     R"({"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"x",)" META(
         "2026-07-28") "}}",
     kNow, "tools/call", "=?base64?eA=?=", kBad, -32020},
    {"the uri is a name too",
     R"({"jsonrpc":"2.0","id":7,"method":"resources/read","params":{"uri":"a",)" META(
         "2026-07-28") "}}",
     kNow, "resources/read", "b", kBad, -32020},
    // Dispatch: unknown methods are 404, wrong parameters are in band.
    {"unknown tool, encoded name",
     R"({"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"x",)" META(
         "2026-07-28") "}}",
     kNow, "tools/call", "=?base64?eA==?=", Disposition::kOk, -32602},
    {"unknown tool",
     R"({"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"x",)" META(
         "2026-07-28") "}}",
     kNow, "tools/call", " x\t", Disposition::kOk, -32602},
    {"name is no string",
     R"({"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":7,)" META("2026-07-28") "}}",
     kNow, "tools/call", kAbsent, Disposition::kOk, -32602},
    {"arguments are no object",
     R"({"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"sandbox_info",)"
     R"("arguments":[],)" META("2026-07-28") "}}",
     kNow, "tools/call", "sandbox_info", Disposition::kOk, -32602},
    {"unknown cursor",
     R"({"jsonrpc":"2.0","id":7,"method":"tools/list","params":{"cursor":"2",)" META(
         "2026-07-28") "}}",
     kNow, "tools/list", kAbsent, Disposition::kOk, -32602},
    {"unknown method", MODERN("unknown/method"), kNow, "unknown/method", kAbsent,
     Disposition::kNotFound, -32601},
    {"initialize", MODERN("initialize"), kNow, "initialize", kAbsent, Disposition::kNotFound,
     -32601},
    {"ping", MODERN("ping"), kNow, "ping", kAbsent, Disposition::kNotFound, -32601},
    {"logging/setLevel", MODERN("logging/setLevel"), kNow, "logging/setLevel", kAbsent,
     Disposition::kNotFound, -32601},
    {"resources/subscribe", MODERN("resources/subscribe"), kNow, "resources/subscribe", kAbsent,
     Disposition::kNotFound, -32601},
    {"subscriptions/listen", MODERN("subscriptions/listen"), kNow, "subscriptions/listen", kAbsent,
     Disposition::kNotFound, -32601},
    {"prompts/list", MODERN("prompts/list"), kNow, "prompts/list", kAbsent, Disposition::kNotFound,
     -32601},
    {"server/discover", MODERN("server/discover"), kNow, "server/discover"},
    {"tools/list", MODERN("tools/list"), kNow, "tools/list"},
    {"blanks around headers", MODERN("tools/list"), " 2026-07-28 ", "\ttools/list "},
    // Older revisions.
    {"2025-11-25", LEGACY("tools/list"), "2025-11-25"},
    {"2025-06-18", LEGACY("tools/list"), "2025-06-18"},
    {"2025-03-26", LEGACY("tools/list"), "2025-03-26"},
    {"no version at all", LEGACY("tools/list")},
    {"a version before those", LEGACY("tools/list"), "2024-11-05", kAbsent, kAbsent, kBad, -32022},
    {"a version of no kind", LEGACY("tools/list"), "banana", kAbsent, kAbsent, kBad, -32022},
    {"an empty version", LEGACY("tools/list"), "", kAbsent, kAbsent, kBad, -32022},
    {"their method header isn't looked at", LEGACY("tools/list"), "2025-11-25", "other"},
    {"legacy ping", LEGACY("ping"), "2025-11-25"},
    {"legacy unknown method is in band", LEGACY("resources/list"), "2025-11-25", kAbsent, kAbsent,
     Disposition::kOk, -32601},
    {"legacy logging/setLevel", LEGACY("logging/setLevel"), "2025-11-25", kAbsent, kAbsent,
     Disposition::kOk, -32601},
    {"legacy discovery", LEGACY("server/discover"), kAbsent, kAbsent, kAbsent, Disposition::kOk,
     -32601},
    {"_meta that claims nothing",
     R"({"jsonrpc":"2.0","id":7,"method":"tools/list","params":{"_meta":{"progressToken":1}}})",
     "2025-11-25"},
    {"_meta that is no object",
     R"({"jsonrpc":"2.0","id":7,"method":"tools/list","params":{"_meta":7}})", "2025-11-25"},
};

class Ladder : public EndpointTestBase {};

TEST_F(Ladder, EveryRungAnswersInItsOrderAndEchoesTheId) {
  for (const Rung& rung : kRungs) {
    SCOPED_TRACE(rung.name);
    Request request = Body(std::string(rung.body));
    request.protocol_version = Header(rung.version);
    request.method = Header(rung.method);
    request.name = Header(rung.tool);
    const Reply reply = Ask(std::move(request));
    EXPECT_EQ(reply.disposition, rung.disposition) << reply.body;
    if (rung.body.front() == '[' && rung.code == 0) continue;  // Answered by an array.
    EXPECT_EQ(ErrorCode(reply), rung.code) << reply.body;
    if (rung.code != -32700 && rung.code != -32600) {
      const bool array = rung.body.front() == '[';
      EXPECT_EQ(Parsed(reply).contains("id"), !array) << reply.body;
      if (!array) {
        EXPECT_EQ(Parsed(reply).at("id").as_int64(), 7);
      }
    }
  }
}

TEST_F(Ladder, AnUnsupportedVersionIsToldWhatIsSupported) {
  Request request = Modern("server/discover");
  request.body =
      R"({"jsonrpc":"2.0","id":7,"method":"server/discover","params":{)" META("v999.0.0") "}}";
  request.protocol_version = "v999.0.0";
  const json::object data =
      Parsed(Ask(std::move(request))).at("error").as_object().at("data").as_object();
  EXPECT_EQ(data.at("requested").as_string(), "v999.0.0");
  EXPECT_EQ(json::serialize(data.at("supported")), R"(["2026-07-28"])");
}

TEST_F(Ladder, NotificationsAndResponsesAreAcceptedWithoutABody) {
  const std::string_view accepted[] = {
      R"({"jsonrpc":"2.0","method":"notifications/initialized"})",
      R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}})",
      R"({"jsonrpc":"2.0","method":"notifications/cancelled"})",
      R"({"jsonrpc":"2.0","method":"notifications/unknown","params":{}})",
      R"({"jsonrpc":"2.0","id":5,"result":{}})",
      R"([{"jsonrpc":"2.0","method":"notifications/initialized"}])",
  };
  for (const std::string_view body : accepted) {
    const Reply reply = Ask(Body(std::string(body)));
    EXPECT_EQ(reply.disposition, Disposition::kAccepted) << body;
    EXPECT_EQ(reply.body, "") << body;
  }
}

TEST_F(Ladder, AModernNotificationIsCheckedAgainstItsHeaders) {
  Request plain = Body(R"({"jsonrpc":"2.0","method":"notifications/x"})");
  plain.protocol_version = "2026-07-28";
  EXPECT_EQ(Ask(plain).disposition, Disposition::kAccepted);
  Request differs = plain;
  differs.method = "notifications/y";
  EXPECT_EQ(ErrorCode(Ask(differs)), -32020);
  Request claims =
      Body(R"({"jsonrpc":"2.0","method":"notifications/x","params":{)" META("2026-07-28") "}}");
  claims.protocol_version = "2025-11-25";
  EXPECT_EQ(ErrorCode(Ask(claims)), -32020);
  Request wrong = plain;
  wrong.protocol_version = "banana";
  EXPECT_EQ(Ask(wrong).disposition, Disposition::kBadRequest);
}

TEST_F(Ladder, AnArrayOfOlderMessagesIsAnsweredByAnArray) {
  const Reply reply =
      Ask(Body("[" LEGACY("ping") R"(,{"jsonrpc":"2.0","method":"notifications/initialized"},)"
                                  R"({"jsonrpc":"2.0","id":"b","method":"nothing"}])"));
  EXPECT_EQ(reply.disposition, Disposition::kOk);
  const json::array answers = json::parse(reply.body).as_array();
  ASSERT_EQ(answers.size(), 2u);
  EXPECT_EQ(answers[0].at("id").as_int64(), 7);
  EXPECT_EQ(answers[1].at("id").as_string(), "b");
  EXPECT_EQ(answers[1].at("error").at("code").as_int64(), -32601);
}

}  // namespace
}  // namespace sandkeep::mcp
