#include "gateway/mcp/strict_json.h"

#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>

#include "common/limits.h"
#include "common/strings.h"

namespace sandkeep::mcp {
namespace {

using namespace std::string_view_literals;

std::string Nested(int depth) { return std::string(depth, '[') + std::string(depth, ']'); }

TEST(StrictJson, ReadsWhatIsJson) {
  for (const std::string_view text :
       {R"({"a":[1,2.5,-3e2,true,null,"x"]})", R"( {"emoji":"\ud83d\ude00","é":"ü"} )", "17",
        R"({"nul":"\u0000"})", R"({"a":{"k":1},"b":{"k":1}})"}) {
    EXPECT_TRUE(ParseStrictJson(text).ok()) << text;
  }
  EXPECT_TRUE(ParseStrictJson(Nested(kMaxJsonDepth)).ok());
}

TEST(StrictJson, RefusesWhatIsNot) {
  for (const std::string_view text : {""sv,
                                      " "sv,
                                      "{"sv,
                                      "[1,]"sv,
                                      "{\"a\":1,}"sv,
                                      "{\"a\" 1}"sv,
                                      "{'a':1}"sv,
                                      "nul"sv,
                                      "01"sv,
                                      "+1"sv,
                                      "NaN"sv,
                                      "[1] x"sv,
                                      "{}{}"sv,
                                      "/* c */ {}"sv,
                                      "\xEF\xBB\xBF{}"sv,
                                      "\"a\nb\""sv,
                                      "\"\\x\""sv,
                                      "\"\\ud800\""sv,
                                      "\"\\udc00\""sv,
                                      "\"\\ud800\\u0041\""sv,
                                      "\"\xFF\""sv,
                                      "\"\xC3\""sv,
                                      "\"\xED\xA0\x80\""sv,
                                      "\"\xC0\xAF\""sv,
                                      "\"\xF4\x90\x80\x80\""sv,
                                      "\0{}"sv,
                                      "{}\0"sv,
                                      "\"a\0b\""sv}) {
    const auto value = ParseStrictJson(text);
    EXPECT_FALSE(value.ok()) << text;
    EXPECT_TRUE(absl::IsInvalidArgument(value.status()));
    EXPECT_FALSE(value.status().message().empty());
  }
}

TEST(StrictJson, RefusesAKeyNamedTwice) {
  for (const std::string_view text :
       {R"({"a":1,"a":2})", R"([{"x":{"k":1,"k":1}}])", R"({"a":1,"\u0061":2})"}) {
    EXPECT_EQ(ToStd(ParseStrictJson(text).status().message()), "an object names one key twice")
        << text;
  }
}

TEST(StrictJson, RefusesDepthThatWouldEatTheStack) {
  EXPECT_EQ(ToStd(ParseStrictJson(Nested(kMaxJsonDepth + 1)).status().message()),
            "nested deeper than 32");
  EXPECT_FALSE(ParseStrictJson(std::string(1'000'000, '[')).ok());
}

TEST(StrictJson, ASmallTextCannotBecomeALargeTree) {
  std::string many = "[";
  for (int i = 0; i < 100'000; ++i) many += "[],";
  many += "0]";
  EXPECT_EQ(ToStd(ParseStrictJson(many).status().message()), "more than 32768 values");
  std::string flat = "[0";
  for (int i = 0; i < 40'000; ++i) flat += ",0";
  flat += "]";
  EXPECT_FALSE(ParseStrictJson(flat).ok());
}

TEST(StrictJson, StringsComeBackAsTheyWere) {
  const std::string_view text = "a\"b\\c\n\t\x01 é 😀\0x"sv;
  std::string out;
  AppendJsonString(&out, text);
  const auto value = ParseStrictJson(out);
  ASSERT_TRUE(value.ok()) << out;
  EXPECT_EQ(std::string_view(value->as_string()), text);
  const std::string large(100'000, '\\');
  out.clear();
  AppendJsonString(&out, large);
  EXPECT_EQ(out.size(), 2 * large.size() + 2);
}

}  // namespace
}  // namespace sandkeep::mcp
