#include "gateway/mcp/catalog.h"

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <utility>

#include "common/strings.h"
#include "gateway/mcp/strict_json.h"
#include "gateway/mcp/versions.h"

namespace sandkeep::mcp {
namespace {

namespace json = boost::json;

// The list changes only with the host's settings.
constexpr std::int64_t kListKeptMs = 300'000;

// Names no label: every model would copy it.
constexpr std::string_view kInstructions =
    "Sandkeep gives you Linux sandboxes: Debian, root, bash. Use one sandbox for each "
    "conversation. At the start make up a new label for it, two random words and three random "
    "digits, joined by hyphens, and pass exactly this label in every call of the conversation; "
    "never one from another conversation, unless the person wants to go on there. Every result "
    "begins with the label, and with [new] if the sandbox was empty: if you did not expect that, "
    "check the label. Files below /workspace persist. Installed packages and processes last while "
    "the sandbox is in use and a good while longer, but not for ever. Nobody outside can reach a "
    "port of the sandbox, and the person sees neither its files nor your results: hand over files "
    "with present_file, and anything to look at as a picture.";

constexpr std::string_view kPersistentInstructions =
    "Sandkeep gives you a Linux sandbox of the person's own: Debian, root, bash. It is the same in "
    "every conversation: look at what is there before you begin, and keep the files of different "
    "matters in folders of their own. Files below /sandbox and installed packages persist. Nobody "
    "outside can reach a port of the sandbox, and the person sees neither its files nor your "
    "results: hand over files with share_file.";

std::string_view InstructionsOf(const agent::v1::Info* host) {
  return IsPersistent(host) ? kPersistentInstructions : kInstructions;
}

std::string ServerInfo() {
  return StrCat(R"({"name":"sandkeep","title":"Sandkeep","version":")", SANDKEEP_VERSION, R"("})");
}

json::object Schema(const ToolDescription& description) {
  json::object schema;
  schema["type"] = "object";
  schema["properties"] = description.properties;
  json::array required;
  for (const std::string_view name : description.required) {
    required.emplace_back(json::string_view(name));
  }
  if (!required.empty()) schema["required"] = std::move(required);
  schema["additionalProperties"] = false;
  return schema;
}

json::object Listed(const Tool& tool, const agent::v1::Info* host) {
  const ToolDescription description = tool.Describe(host);
  json::object annotations;
  annotations["title"] = description.title;
  annotations["readOnlyHint"] = description.read_only;
  annotations["destructiveHint"] = description.destructive;
  annotations["idempotentHint"] = description.idempotent;
  annotations["openWorldHint"] = description.open_world;
  json::object listed;
  listed["name"] = json::string_view(tool.name());
  listed["title"] = description.title;
  listed["description"] = description.text;
  listed["inputSchema"] = Schema(description);
  listed["annotations"] = std::move(annotations);
  if (description.result_chars > 0) {
    json::object meta;
    meta["anthropic/maxResultSizeChars"] = description.result_chars;
    listed["_meta"] = std::move(meta);
  }
  return listed;
}

std::string ResultMembers(std::string_view type) {
  return StrCat(R"("resultType":")", type, R"(","_meta":{"io.modelcontextprotocol/serverInfo":)",
                ServerInfo(), "}");
}

}  // namespace

std::string CacheMembers(std::int64_t ttl_ms) {
  return StrCat(R"("ttlMs":)", ttl_ms, R"(,"cacheScope":"private",)");
}

std::string_view ModernMembers() {
  static const std::string* const members = new std::string(ResultMembers("complete"));
  return *members;
}

std::string_view TaskResultMembers() {
  static const std::string* const members = new std::string(ResultMembers("task"));
  return *members;
}

std::string_view AskingMembers() {
  static const std::string* const members = new std::string(ResultMembers("input_required"));
  return *members;
}

Catalog MakeCatalog(const Tools& tools, const agent::v1::Info* host,
                    std::string_view capabilities) {
  const std::string kept = CacheMembers(kListKeptMs);
  json::array list;
  for (const std::unique_ptr<Tool>& tool : tools) list.push_back(Listed(*tool, host));
  const std::string text = json::serialize(list);
  Catalog catalog;
  catalog.legacy_tools = StrCat(R"({"tools":)", text, "}");
  catalog.modern_tools = StrCat(R"({"tools":)", text, ",", kept, ModernMembers(), "}");
  catalog.discovery = StrCat(R"({"supportedVersions":[")", kModernVersion, R"("],"capabilities":)",
                             capabilities, R"(,"instructions":)");
  AppendJsonString(&catalog.discovery, InstructionsOf(host));
  StrAppend(&catalog.discovery, ",", kept, ModernMembers(), "}");
  return catalog;
}

std::string Catalog::Handshake(std::string_view version, std::string_view capabilities,
                               const agent::v1::Info* host) {
  std::string result =
      StrCat(R"({"protocolVersion":")", version, R"(","capabilities":)", capabilities,
             R"(,"serverInfo":)", ServerInfo(), R"(,"instructions":)");
  AppendJsonString(&result, InstructionsOf(host));
  result += "}";
  return result;
}

}  // namespace sandkeep::mcp
