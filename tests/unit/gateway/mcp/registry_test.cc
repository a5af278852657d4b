// What is registered is declared, listed and served in both eras; what isn't doesn't exist.
#include "gateway/mcp/registry.h"

#include "common/limits.h"
#include "tests/unit/gateway/mcp/endpoint_test_base.h"

namespace sandkeep::mcp {
namespace {

using testing::HasSubstr;
using testing::Not;

// Two notes on each of two pages, if it is told so.
class Notes : public ResourceSource {
 public:
  explicit Notes(std::string prefix, bool two_pages = false)
      : prefix_(std::move(prefix)), two_pages_(two_pages) {}

  Async<ResourcePage> List(CallContext& /*context*/, std::string cursor) override {
    if (!cursor.empty() && cursor != "more") co_return absl::InvalidArgumentError("No such page.");
    ResourcePage page;
    ResourceInfo note;
    note.uri = StrCat(prefix_, cursor.empty() ? "one" : "two");
    note.name = "a \"note\"";
    note.size = 3;
    page.resources.push_back(note);
    if (two_pages_ && cursor.empty()) page.next_cursor = "more";
    co_return page;
  }
  std::vector<ResourceTemplate> Templates() const override {
    return {{.uri_template = StrCat(prefix_, "{id}"),
             .name = "a note",
             .title = "",
             .description = "",
             .mime_type = ""}};
  }
  Async<std::optional<std::vector<ResourceContent>>> Read(CallContext& context,
                                                          std::string uri) override {
    if (uri == prefix_ + "broken") co_return absl::UnavailableError("the disk is gone");
    if (uri.compare(0, prefix_.size(), prefix_) != 0) co_return std::nullopt;
    co_return std::vector<ResourceContent>{{.uri = uri,
                                            .mime_type = "text/plain",
                                            .bytes = context.principal().text(),
                                            .is_text = true},
                                           {.uri = uri,
                                            .mime_type = "image/png",
                                            .bytes = std::string("\0\xff", 2),
                                            .is_text = false}};
  }
  bool completes() const override { return true; }
  Async<std::vector<std::string>> Complete(CallContext& /*context*/, std::string /*uri_template*/,
                                           std::string variable, std::string begun) override {
    std::vector<std::string> values;
    for (std::size_t i = 0; i < kMaxCompletionValues + 1; ++i) values.push_back(variable + begun);
    co_return values;
  }

 private:
  const std::string prefix_;
  const bool two_pages_;
};

class Greeting : public Prompt {
 public:
  std::string_view name() const override { return "greeting"; }
  PromptDescription Describe() const override {
    return {.title = "Greeting",
            .text = "Greets.",
            .arguments = {{.name = "who", .description = "Whom.", .required = true}}};
  }
  Async<PromptResult> Get(CallContext& /*context*/, Arguments arguments) override {
    PromptResult result;
    result.messages.push_back({.content = TextBlock{StrCat("Hello, ", arguments.at("who"))}});
    co_return result;
  }
};

// Wants an answer of the person first.
class Careful : public Tool {
 public:
  std::string_view name() const override { return "careful"; }
  ToolDescription Describe(const v1::Info* /*host*/) const override { return {}; }
  Async<ToolResult> Call(CallContext& context, Arguments /*arguments*/) override {
    if (context.state == "asked" && context.AnswerTo("sure") != nullptr) {
      co_return ToolResult::Text("done");
    }
    json::object question;
    question["method"] = "elicitation/create";
    question["params"] = json::object();
    ToolResult result;
    result.questions.emplace();
    result.questions->requests["sure"] = std::move(question);
    result.questions->state = "asked";
    co_return result;
  }
};

class RegistryTest : public EndpointTestBase {
 protected:
  void Offer() {
    registry_.resources.push_back(std::make_unique<Notes>("note:///"));
    registry_.resources.push_back(std::make_unique<Notes>("memo:///", /*two_pages=*/true));
    registry_.prompts.push_back(std::make_unique<Greeting>());
    registry_.tools.push_back(std::make_unique<Careful>());
  }

  Request ModernNamed(std::string_view method, std::string_view name, std::string_view params) {
    Request request = Modern(method, params);
    request.name = std::string(name);
    return request;
  }

  // As a client that can ask its person.
  static Request WithElicitation(Request request) {
    const std::string_view none = R"("io.modelcontextprotocol/clientCapabilities":{})";
    request.body.replace(request.body.find(none), none.size(),
                         R"("io.modelcontextprotocol/clientCapabilities":{"elicitation":{}})");
    return request;
  }
};

TEST_F(RegistryTest, NothingIsDeclaredNorServedThatNobodyRegistered) {
  EXPECT_THAT(Ask(Legacy("initialize")).body, HasSubstr(R"("capabilities":{"tools":{}})"));
  EXPECT_THAT(Ask(Modern("server/discover")).body,
              HasSubstr(R"("capabilities":{"tools":{},"extensions":)"
                        R"({"io.modelcontextprotocol/tasks":{}}})"));
  for (const std::string_view method :
       {"resources/list", "resources/read", "prompts/list", "prompts/get", "completion/complete"}) {
    EXPECT_EQ(ErrorCode(Ask(Legacy(method))), kMethodNotFound) << method;
    Request modern = Modern(method);
    EXPECT_EQ(Ask(modern).disposition, Disposition::kNotFound) << method;
  }
}

TEST_F(RegistryTest, WhatIsThereIsDeclaredInBothEras) {
  Offer();
  for (const Reply& reply : {Ask(Legacy("initialize")), Ask(Modern("server/discover"))}) {
    const json::object declared = ResultOf(reply).at("capabilities").as_object();
    for (const char* name : {"tools", "resources", "prompts", "completions"}) {
      EXPECT_TRUE(declared.contains(name)) << name;
    }
  }
}

TEST_F(RegistryTest, PagesGoOnFromOneSourceToTheNext) {
  Offer();
  std::string cursor;
  std::vector<std::string> uris;
  do {
    const std::string params = cursor.empty() ? "" : StrCat(R"("cursor":")", cursor, "\"");
    const json::object page = ResultOf(Ask(Legacy("resources/list", params)));
    for (const json::value& one : page.at("resources").as_array()) {
      uris.emplace_back(one.at("uri").as_string());
    }
    const json::value* next = page.if_contains("nextCursor");
    cursor = next == nullptr ? "" : std::string(next->as_string());
  } while (!cursor.empty());
  EXPECT_EQ(uris, (std::vector<std::string>{"note:///one", "memo:///one", "memo:///two"}));
  for (const std::string_view wrong :
       {"\"7:\"", "\"x\"", "\"0:nonsense\"", "17", "\"-1:\"", "\"99999999999999999999:\""}) {
    EXPECT_EQ(ErrorCode(Ask(Legacy("resources/list", StrCat(R"("cursor":)", wrong)))),
              kInvalidParams)
        << wrong;
  }
}

TEST_F(RegistryTest, AResourceIsReadForItsPrincipalAndNotKept) {
  Offer();
  const json::object result =
      ResultOf(Ask(ModernNamed("resources/read", "memo:///x", R"("uri":"memo:///x")")));
  const json::array contents = result.at("contents").as_array();
  EXPECT_EQ(contents.at(0).at("text").as_string(), "key-one");
  EXPECT_EQ(contents.at(1).at("blob").as_string(), "AP8=");
  EXPECT_EQ(result.at("ttlMs").as_int64(), 0);
  EXPECT_EQ(result.at("cacheScope").as_string(), "private");
  EXPECT_FALSE(ResultOf(Ask(Legacy("resources/read", R"("uri":"memo:///x")"))).contains("ttlMs"));
}

TEST_F(RegistryTest, AResourceThatIsntThereIsNamedByTheErrorOfItsEra) {
  Offer();
  const Reply modern = Ask(ModernNamed("resources/read", "x:///y", R"("uri":"x:///y")"));
  EXPECT_EQ(ErrorCode(modern), kInvalidParams);
  EXPECT_EQ(modern.disposition, Disposition::kOk);
  EXPECT_EQ(Parsed(modern).at("error").at("data").at("uri").as_string(), "x:///y");
  EXPECT_EQ(ErrorCode(Ask(Legacy("resources/read", R"("uri":"x:///y")"))), -32002);
  EXPECT_EQ(ErrorCode(Ask(Legacy("resources/read", R"("uri":7)"))), kInvalidParams);
  EXPECT_EQ(ErrorCode(Ask(Legacy("resources/read", R"("uri":"note:///broken")"))), kInternalError);
}

TEST_F(RegistryTest, APromptIsGivenWithItsArguments) {
  Offer();
  EXPECT_THAT(Ask(Legacy("prompts/list")).body, HasSubstr(R"("name":"who")"));
  const json::object result =
      ResultOf(Ask(Legacy("prompts/get", R"("name":"greeting","arguments":{"who":"World"})")));
  EXPECT_EQ(result.at("messages").at(0).at("content").at("text").as_string(), "Hello, World");
  for (const std::string_view wrong :
       {R"("name":"greeting")", R"("name":"none")", R"("name":"greeting","arguments":{"who":7})"}) {
    EXPECT_EQ(ErrorCode(Ask(Legacy("prompts/get", wrong))), kInvalidParams) << wrong;
  }
}

TEST_F(RegistryTest, CompletionsAreAtMostAsManyAsTheProtocolAllows) {
  Offer();
  const json::object completion =
      ResultOf(
          Ask(Legacy("completion/complete", R"("ref":{"type":"ref/resource","uri":"note:///{id}"},)"
                                            R"("argument":{"name":"id","value":"a"})")))
          .at("completion")
          .as_object();
  EXPECT_EQ(completion.at("values").as_array().size(), kMaxCompletionValues);
  EXPECT_TRUE(completion.at("hasMore").as_bool());
  for (const std::string_view wrong :
       {R"("ref":7)",
        R"("ref":{"type":"ref/prompt","name":"x"},"argument":{"name":"a","value":""})",
        R"("ref":{"type":"ref/prompt","name":"greeting"},"argument":{"name":"who"})"}) {
    EXPECT_EQ(ErrorCode(Ask(Legacy("completion/complete", wrong))), kInvalidParams) << wrong;
  }
}

TEST_F(RegistryTest, ACallThatAsksGoesOnWithTheAnswerAndTheStateItGaveOut) {
  Offer();
  const json::object asked = ResultOf(Ask(WithElicitation(ModernCall("careful", ""))));
  EXPECT_EQ(asked.at("resultType").as_string(), "input_required");
  EXPECT_TRUE(asked.at("inputRequests").as_object().contains("sure"));
  const std::string state(asked.at("requestState").as_string());
  auto again = [&](std::string_view with) {
    return WithElicitation(ModernNamed(
        "tools/call", "careful",
        StrCat(R"("name":"careful","inputResponses":{"sure":{"action":"accept"}},"requestState":")",
               with, "\"")));
  };
  EXPECT_EQ(TextOf(Ask(again(state))), "done");
  EXPECT_EQ(ErrorCode(Ask(again(state + "x"))), kInvalidParams);
  Request foreign = again(state);
  foreign.caller.principal = *PrincipalId::Parse("key-two");
  EXPECT_EQ(ErrorCode(Ask(foreign)), kInvalidParams);
}

TEST_F(RegistryTest, NobodyIsAskedWhatTheyDidntOfferToAnswer) {
  Offer();
  const Reply reply = Ask(ModernCall("careful", ""));
  EXPECT_EQ(reply.disposition, Disposition::kBadRequest);
  EXPECT_EQ(ErrorCode(reply), kMissingClientCapability);
  EXPECT_TRUE(Parsed(reply)
                  .at("error")
                  .at("data")
                  .at("requiredCapabilities")
                  .as_object()
                  .contains("elicitation"));
  EXPECT_EQ(ErrorCode(Ask(LegacyCall("careful", ""))), kInvalidRequest);
}

}  // namespace
}  // namespace sandkeep::mcp
