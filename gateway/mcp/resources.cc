#include "gateway/mcp/resources.h"

#include <cstddef>
#include <utility>

#include "absl/strings/numbers.h"
#include "common/limits.h"
#include "common/strings.h"
#include "gateway/mcp/strict_json.h"

namespace sandkeep::mcp {
namespace {

namespace json = boost::json;
using boost::asio::awaitable;

// What there is changes with every command, what can be there with the version.
constexpr std::int64_t kNotKept = 0;
constexpr std::int64_t kTemplatesKeptMs = 300'000;
// Until 2025-11-25 a resource that isn't there had a code of its own.
constexpr int kLegacyResourceNotFound = -32002;

void AppendMember(std::string* out, std::string_view name, std::string_view text) {
  if (text.empty()) return;
  StrAppend(out, ",\"", name, "\":");
  AppendJsonString(out, text);
}

// What both listings have in common, the first member being the one that differs.
template <typename Listed>
void AppendListed(std::string* out, std::string_view first_name, std::string_view first,
                  const Listed& listed) {
  StrAppend(out, out->back() == '[' ? "" : ",", "{\"", first_name, "\":");
  AppendJsonString(out, first);
  AppendMember(out, "name", listed.name);
  AppendMember(out, "title", listed.title);
  AppendMember(out, "description", listed.description);
  AppendMember(out, "mimeType", listed.mime_type);
}

// Which source, and where in it.
struct Position {
  std::size_t source = 0;
  std::string cursor;
};

class ListResources : public Method {
 public:
  explicit ListResources(const ResourceSources& sources) : sources_(sources) {}
  std::string_view name() const override { return "resources/list"; }

  awaitable<MethodAnswer> Call(CallContext& context, json::object params) override {
    std::optional<Position> position = PositionOf(params);
    if (!position.has_value()) co_return BadParams("The list has no such cursor.");
    const std::size_t source = position->source;
    absl::StatusOr<ResourcePage> page =
        co_await sources_[source]->List(context, std::move(position->cursor));
    if (!page.ok()) co_return ErrorOf(page.status());
    std::string members = R"("resources":[)";
    for (const ResourceInfo& resource : page->resources) {
      AppendListed(&members, "uri", resource.uri, resource);
      if (resource.size.has_value()) StrAppend(&members, R"(,"size":)", *resource.size);
      members += "}";
    }
    members += "]";
    const std::string next = CursorAfter(source, page->next_cursor);
    AppendMember(&members, "nextCursor", next);
    co_return MethodResult{.members = std::move(members), .ttl_ms = kNotKept};
  }

 private:
  std::optional<Position> PositionOf(const json::object& params) const {
    const json::value* given = params.if_contains("cursor");
    if (given == nullptr || given->is_null()) return Position{};
    if (!given->is_string() || given->get_string().size() > kMaxCursorBytes) return std::nullopt;
    const std::string_view cursor = given->get_string();
    if (cursor.empty()) return Position{};
    const std::size_t colon = cursor.find(':');
    Position position;
    if (colon == std::string_view::npos ||
        !absl::SimpleAtoi(ToAbsl(cursor.substr(0, colon)), &position.source) ||
        position.source >= sources_.size()) {
      return std::nullopt;
    }
    position.cursor = std::string(cursor.substr(colon + 1));
    return position;
  }

  std::string CursorAfter(std::size_t source, std::string_view next) const {
    if (!next.empty()) return StrCat(source, ":", next);
    return source + 1 < sources_.size() ? StrCat(source + 1, ":") : "";
  }

  const ResourceSources& sources_;
};

class ListTemplates : public Method {
 public:
  explicit ListTemplates(const ResourceSources& sources) : sources_(sources) {}
  std::string_view name() const override { return "resources/templates/list"; }

  awaitable<MethodAnswer> Call(CallContext& /*context*/, json::object /*params*/) override {
    std::string members = R"("resourceTemplates":[)";
    for (const auto& source : sources_) {
      for (const ResourceTemplate& one : source->Templates()) {
        AppendListed(&members, "uriTemplate", one.uri_template, one);
        members += "}";
      }
    }
    members += "]";
    co_return MethodResult{.members = std::move(members), .ttl_ms = kTemplatesKeptMs};
  }

 private:
  const ResourceSources& sources_;
};

RpcError NoSuchResource(Era era, std::string_view uri) {
  RpcError error = BadParams("There is no such resource.");
  if (era == Era::kLegacy) error.code = kLegacyResourceNotFound;
  error.data["uri"] = json::string_view(uri);
  return error;
}

class ReadResource : public Method {
 public:
  explicit ReadResource(const ResourceSources& sources) : sources_(sources) {}
  std::string_view name() const override { return "resources/read"; }

  awaitable<MethodAnswer> Call(CallContext& context, json::object params) override {
    const json::string* given = TextIn(params, "uri");
    if (given == nullptr || given->size() > kMaxResourceUriBytes) {
      co_return BadParams("params.uri must be a resource's URI.");
    }
    const std::string uri(*given);
    for (const auto& source : sources_) {
      const auto contents = co_await source->Read(context, uri);
      if (!contents.ok()) co_return ErrorOf(contents.status());
      if (contents->has_value()) co_return Shown(**contents);
    }
    co_return NoSuchResource(context.era, uri);
  }

 private:
  static MethodResult Shown(const std::vector<ResourceContent>& contents) {
    std::string members = R"("contents":[)";
    for (const ResourceContent& content : contents) {
      if (members.back() != '[') members += ",";
      AppendResourceContent(&members, content);
    }
    members += "]";
    return {.members = std::move(members), .ttl_ms = kNotKept};
  }

  const ResourceSources& sources_;
};

}  // namespace

Async<std::vector<std::string>> ResourceSource::Complete(CallContext& /*context*/,
                                                         std::string /*uri_template*/,
                                                         std::string /*variable*/,
                                                         std::string /*begun*/) {
  co_return std::vector<std::string>();
}

void AddResourceMethods(const ResourceSources& sources, Methods* methods) {
  methods->push_back(std::make_unique<ListResources>(sources));
  methods->push_back(std::make_unique<ListTemplates>(sources));
  methods->push_back(std::make_unique<ReadResource>(sources));
}

}  // namespace sandkeep::mcp
