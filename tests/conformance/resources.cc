#include "gateway/mcp/resources.h"

#include <memory>
#include <string>
#include <utility>

#include "common/strings.h"
#include "tests/conformance/fixtures.h"

namespace sandkeep::mcp {
namespace {

constexpr std::string_view kTemplate = "test://template/{id}/data";

std::string_view IdIn(std::string_view uri) {
  constexpr std::string_view kBefore = "test://template/";
  constexpr std::string_view kAfter = "/data";
  const bool matches = uri.size() > kBefore.size() + kAfter.size() &&
                       uri.substr(0, kBefore.size()) == kBefore &&
                       uri.substr(uri.size() - kAfter.size()) == kAfter;
  if (!matches) return {};
  uri.remove_prefix(kBefore.size());
  uri.remove_suffix(kAfter.size());
  return uri;
}

class FixtureSource : public ResourceSource {
 public:
  FixtureSource() {
    Add("static-text", "text/plain", "This is the content of the static text resource.", true);
    Add("static-binary", "image/png", FixtureImage(), false);
    Add("watched-resource", "text/plain", "Watched resource content", true);
  }

  Async<ResourcePage> List(CallContext& /*context*/, std::string cursor) override {
    if (!cursor.empty()) co_return absl::InvalidArgumentError("The list has no such cursor.");
    ResourcePage page;
    for (const ResourceContent& content : contents_) {
      page.resources.push_back({.uri = content.uri,
                                .name = content.uri.substr(content.uri.rfind('/') + 1),
                                .title = "",
                                .description = "For the conformance suite.",
                                .mime_type = content.mime_type,
                                .size = static_cast<std::int64_t>(content.bytes.size())});
    }
    co_return page;
  }

  std::vector<ResourceTemplate> Templates() const override {
    return {{.uri_template = std::string(kTemplate),
             .name = "template",
             .title = "Resource Template",
             .description = "For the conformance suite.",
             .mime_type = "application/json"}};
  }

  Async<std::optional<std::vector<ResourceContent>>> Read(CallContext& /*context*/,
                                                          std::string uri) override {
    const std::string_view id = IdIn(uri);
    if (!id.empty()) {
      std::string text =
          StrCat(R"({"id":")", id, R"(","templateTest":true,"data":"Data for ID: )", id, R"("})");
      co_return std::vector<ResourceContent>{
          {.uri = uri, .mime_type = "application/json", .bytes = std::move(text), .is_text = true}};
    }
    for (const ResourceContent& content : contents_) {
      if (content.uri == uri) co_return std::vector<ResourceContent>{content};
    }
    co_return std::nullopt;
  }

 private:
  void Add(std::string_view name, std::string_view mime_type, std::string_view bytes,
           bool is_text) {
    contents_.push_back({.uri = StrCat("test://", name),
                         .mime_type = std::string(mime_type),
                         .bytes = std::string(bytes),
                         .is_text = is_text});
  }

  std::vector<ResourceContent> contents_;
};

}  // namespace

void AddFixtureResources(ResourceSources* sources) {
  sources->push_back(std::make_unique<FixtureSource>());
}

}  // namespace sandkeep::mcp
