#include "gateway/mcp/tools/one_sandbox.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "common/strings.h"
#include "gateway/mcp/tools/profile_words.h"
#include "gateway/mcp/tools/workspace_path.h"

namespace sandkeep::mcp {
namespace {

constexpr std::string_view kWorkspace = "/workspace";
// Where the persistent profile's people know it.
constexpr std::string_view kHere = "/sandbox";
constexpr std::string_view kArgument = "sandbox";

// The same folder lies at both places; the tools know the first.
std::string InnerPath(std::string_view path) {
  path = WithoutScheme(path);
  const bool below = path.substr(0, kHere.size()) == kHere &&
                     (path.size() == kHere.size() || path[kHere.size()] == '/');
  return below ? StrCat(kWorkspace, path.substr(kHere.size())) : std::string(path);
}

}  // namespace

ToolDescription OneSandbox::Describe(const agent::v1::Info* host) const {
  ToolDescription description = inner_.Describe(host);
  description.text = InOneSandbox(description.text);
  description.properties.erase(boost::json::string_view(kArgument));
  for (auto& property : description.properties) {
    boost::json::object& schema = property.value().as_object();
    const boost::json::string& words = schema.at("description").as_string();
    schema["description"] = InOneSandbox(words);
  }
  auto& required = description.required;
  required.erase(std::remove(required.begin(), required.end(), kArgument), required.end());
  return description;
}

Async<ToolResult> OneSandbox::Call(CallContext& context, Arguments arguments) {
  boost::json::object values = arguments.Take();
  values[boost::json::string_view(kArgument)] = boost::json::string_view(kOnlySandbox);
  if (boost::json::value* path = values.if_contains("path"); path != nullptr && path->is_string()) {
    *path = InnerPath(path->get_string());
  }
  context.persistent = true;
  Arguments whole(std::move(values));
  auto call = inner_.Call(context, std::move(whole));
  absl::StatusOr<ToolResult> result = co_await std::move(call);
  if (result.ok()) co_return result;
  const absl::Status& failed = result.status();
  co_return absl::Status(failed.code(), InOneSandbox(ToStd(failed.message())));
}

}  // namespace sandkeep::mcp
