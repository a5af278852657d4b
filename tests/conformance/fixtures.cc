#include "tests/conformance/fixtures.h"

#include <memory>
#include <utility>

#include "gateway/mcp/base64.h"

namespace sandkeep::mcp {
namespace {

namespace json = boost::json;

// A method that takes note of nothing: without sessions there is nobody to take note for.
class Acknowledged : public Method {
 public:
  explicit Acknowledged(std::string_view name) : name_(name) {}
  std::string_view name() const override { return name_; }
  bool ServedIn(Era era) const override { return era == Era::kLegacy; }
  boost::asio::awaitable<MethodAnswer> Call(CallContext& /*context*/,
                                            json::object /*params*/) override {
    co_return MethodResult{};
  }

 private:
  const std::string_view name_;
};

}  // namespace

std::string_view FixtureImage() {
  static const std::string* const png = new std::string(
      FromBase64(
          "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5E"
          "rkJggg==")
          .value());
  return *png;
}

Registry ConformanceFixtures() {
  Registry registry;
  AddFixedTools(&registry.tools);
  AddStreamingTools(&registry.tools);
  AddAskingTools(&registry.tools);
  AddTaskTools(&registry.tools, &registry.tasks);
  AddFixtureResources(&registry.resources);
  AddFixturePrompts(&registry.prompts);
  for (const std::string_view name :
       {"logging/setLevel", "resources/subscribe", "resources/unsubscribe"}) {
    registry.methods.push_back(std::make_unique<Acknowledged>(name));
  }
  json::object resources;
  resources["subscribe"] = true;
  registry.legacy_capabilities["logging"] = json::object();
  registry.legacy_capabilities["resources"] = std::move(resources);
  return registry;
}

}  // namespace sandkeep::mcp
