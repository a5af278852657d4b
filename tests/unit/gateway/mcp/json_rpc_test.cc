#include "gateway/mcp/json_rpc.h"

#include <gtest/gtest.h>

#include "common/limits.h"
#include "common/strings.h"

namespace sandkeep::mcp {
namespace {

std::string Request(std::string_view id) {
  return StrCat(R"({"jsonrpc":"2.0","id":)", id, R"(,"method":"ping"})");
}

TEST(JsonRpc, IdsAreEchoedAsTheyCame) {
  for (const std::string_view id : {"0", "1", "-7", "9007199254740993", "9223372036854775807",
                                    "18446744073709551615", R"("")", R"("abc")", R"("é\"\\")"}) {
    const auto parsed = ParseBody(Request(id));
    ASSERT_TRUE(std::holds_alternative<Incoming>(parsed)) << id;
    const Message& message = std::get<Incoming>(parsed).messages.at(0);
    EXPECT_EQ(message.id, id);
    EXPECT_EQ(message.kind, Message::Kind::kRequest);
  }
}

TEST(JsonRpc, OtherIdsAreRefusedWithoutAnIdInTheAnswer) {
  const std::string long_id = StrCat("\"", std::string(kMaxRequestIdBytes + 1, 'x'), "\"");
  for (const std::string_view id :
       {std::string_view("null"), std::string_view("1.5"), std::string_view("1.0"),
        std::string_view("true"), std::string_view("[1]"), std::string_view("{}"),
        std::string_view(long_id)}) {
    const auto parsed = ParseBody(Request(id));
    ASSERT_TRUE(std::holds_alternative<Malformed>(parsed)) << id;
    const Malformed& malformed = std::get<Malformed>(parsed);
    EXPECT_EQ(malformed.error.code, kInvalidRequest);
    EXPECT_EQ(ErrorBody(malformed.id, malformed.error).find("\"id\""), std::string::npos);
  }
}

TEST(JsonRpc, WhatIsNoMessageIsRefusedAndEchoesAnIdThatCouldBeRead) {
  struct Case {
    std::string_view body;
    int code;
    std::string_view id;
  };
  const Case cases[] = {
      {"", kParseError, ""},
      {"{", kParseError, ""},
      {R"({"jsonrpc":"2.0","id":1,"id":2,"method":"ping"})", kParseError, ""},
      {"17", kInvalidRequest, ""},
      {"null", kInvalidRequest, ""},
      {"\"ping\"", kInvalidRequest, ""},
      {"{}", kInvalidRequest, ""},
      {R"({"id":4,"method":"ping"})", kInvalidRequest, "4"},
      {R"({"jsonrpc":"1.0","id":4,"method":"ping"})", kInvalidRequest, "4"},
      {R"({"jsonrpc":2.0,"id":4,"method":"ping"})", kInvalidRequest, "4"},
      {R"({"jsonrpc":"2.0","id":4})", kInvalidRequest, "4"},
      {R"({"jsonrpc":"2.0","id":4,"method":7})", kInvalidRequest, "4"},
      {R"({"jsonrpc":"2.0","id":4,"method":"x","params":[1]})", kInvalidRequest, "4"},
      {R"({"jsonrpc":"2.0","id":4,"method":"x","params":"p"})", kInvalidRequest, "4"},
      {"[]", kInvalidRequest, ""},
      {"[1]", kInvalidRequest, ""},
      {"[[]]", kInvalidRequest, ""},
  };
  for (const Case& wrong : cases) {
    const auto parsed = ParseBody(wrong.body);
    ASSERT_TRUE(std::holds_alternative<Malformed>(parsed)) << wrong.body;
    EXPECT_EQ(std::get<Malformed>(parsed).error.code, wrong.code) << wrong.body;
    EXPECT_EQ(std::get<Malformed>(parsed).id, wrong.id) << wrong.body;
  }
}

TEST(JsonRpc, ANullForParamsCountsAsNone) {
  const auto parsed = ParseBody(R"({"jsonrpc":"2.0","id":1,"method":"ping","params":null})");
  ASSERT_TRUE(std::holds_alternative<Incoming>(parsed));
  EXPECT_TRUE(std::get<Incoming>(parsed).messages.at(0).params.empty());
}

TEST(JsonRpc, TellsNotificationsAndResponsesFromRequests) {
  const auto notification = ParseBody(R"({"jsonrpc":"2.0","method":"notifications/initialized"})");
  EXPECT_EQ(std::get<Incoming>(notification).messages.at(0).kind, Message::Kind::kNotification);
  for (const std::string_view body : {R"({"jsonrpc":"2.0","id":1,"result":{}})",
                                      R"({"jsonrpc":"2.0","id":1,"error":{"code":-1}})"}) {
    const auto response = ParseBody(body);
    EXPECT_EQ(std::get<Incoming>(response).messages.at(0).kind, Message::Kind::kResponse);
  }
}

TEST(JsonRpc, AnArrayIsBounded) {
  std::string body = "[";
  for (std::size_t i = 0; i <= kMaxBatchMessages; ++i) {
    StrAppend(&body, i > 0 ? "," : "", Request(StrCat(i)));
  }
  body += "]";
  ASSERT_TRUE(std::holds_alternative<Malformed>(ParseBody(body)));
}

TEST(JsonRpc, AMegabyteOfCommandSurvives) {
  const std::string command(1'000'000, 'x');
  const auto parsed = ParseBody(StrCat(
      R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"c":")", command, R"("}})"));
  ASSERT_TRUE(std::holds_alternative<Incoming>(parsed));
  EXPECT_EQ(std::get<Incoming>(parsed).messages.at(0).params.at("c").as_string().size(),
            command.size());
}

}  // namespace
}  // namespace sandkeep::mcp
