#include "gateway/mcp/era.h"

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "common/strings.h"
#include "common/utf8.h"
#include "gateway/mcp/base64.h"
#include "gateway/mcp/versions.h"

namespace sandkeep::mcp {
namespace {

namespace json = boost::json;

constexpr std::string_view kVersionKey = "io.modelcontextprotocol/protocolVersion";
constexpr std::string_view kCapabilitiesKey = "io.modelcontextprotocol/clientCapabilities";
constexpr std::string_view kReservedPrefix = "io.modelcontextprotocol/";

constexpr std::array<std::string_view, 3> kTaskMethods = {"tasks/get", "tasks/update",
                                                          "tasks/cancel"};

constexpr std::string_view kEncodedPrefix = "=?base64?";
constexpr std::string_view kEncodedSuffix = "?=";

// A header's value without the blanks that don't belong to it.
std::optional<std::string_view> Trimmed(const std::optional<std::string>& value) {
  if (!value) return std::nullopt;
  const std::string_view text = *value;
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return std::string_view();
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

// Foreign text inside an error message.
std::string Shown(std::string_view text) {
  constexpr std::size_t kShownBytes = 100;
  const std::string valid = ToValidUtf8(text.substr(0, kShownBytes * 2));
  const std::string_view head = Utf8Head(valid, kShownBytes);
  return StrCat("'", head, head.size() < valid.size() ? "…'" : "'");
}

RpcError Mismatch(std::string message) {
  return RpcError{.code = kHeaderMismatch, .message = std::move(message), .data = {}};
}

RpcError Unsupported(std::string_view requested, bool modern) {
  json::array supported;
  supported.emplace_back(json::string_view(kModernVersion));
  if (!modern) {
    for (const std::string_view version : kLegacyVersions) {
      supported.emplace_back(json::string_view(version));
    }
  }
  RpcError error{.code = kUnsupportedProtocolVersion,
                 .message = StrCat("Protocol version ", Shown(requested), " isn't supported."),
                 .data = {}};
  error.data["supported"] = std::move(supported);
  error.data["requested"] = ToValidUtf8(requested.substr(0, 200));
  return error;
}

const json::object* MetaOf(const Message& message) {
  const json::value* meta = message.params.if_contains("_meta");
  return meta == nullptr ? nullptr : meta->if_object();
}

const json::value* ClaimOf(const Message& message) {
  const json::object* meta = MetaOf(message);
  return meta == nullptr ? nullptr : meta->if_contains(json::string_view(kVersionKey));
}

bool HasReservedMeta(const Message& message) {
  const json::object* meta = MetaOf(message);
  if (meta == nullptr) return false;
  for (const auto& member : *meta) {
    if (std::string_view(member.key()).substr(0, kReservedPrefix.size()) == kReservedPrefix) {
      return true;
    }
  }
  return false;
}

const json::object* CapabilitiesIn(const json::object* meta) {
  const json::value* declared =
      meta == nullptr ? nullptr : meta->if_contains(json::string_view(kCapabilitiesKey));
  return declared == nullptr ? nullptr : declared->if_object();
}

bool HasCapabilities(const Message& message) { return CapabilitiesIn(MetaOf(message)) != nullptr; }

// An `initialize` that isn't the handshake but a modern request of that name.
bool IsWholeModernRequest(const Message& message) {
  const json::value* claim = ClaimOf(message);
  return claim != nullptr && claim->is_string() && NamesModernVersion(claim->get_string()) &&
         HasCapabilities(message);
}

// The value that Mcp-Name mirrors; nullptr if the method has none.
const json::value* NameOf(const Message& message) {
  if (message.method == "tools/call" || message.method == "prompts/get") {
    return message.params.if_contains("name");
  }
  if (message.method == "resources/read") return message.params.if_contains("uri");
  if (std::find(kTaskMethods.begin(), kTaskMethods.end(), message.method) != kTaskMethods.end()) {
    return message.params.if_contains("taskId");
  }
  return nullptr;
}

// nullopt: marked as encoded, but isn't.
std::optional<std::string> DecodedHeader(std::string_view value) {
  const bool encoded = value.size() >= kEncodedPrefix.size() + kEncodedSuffix.size() &&
                       value.substr(0, kEncodedPrefix.size()) == kEncodedPrefix &&
                       value.substr(value.size() - kEncodedSuffix.size()) == kEncodedSuffix;
  if (!encoded) return std::string(value);
  value.remove_prefix(kEncodedPrefix.size());
  value.remove_suffix(kEncodedSuffix.size());
  std::optional<std::string> decoded = FromBase64(value);
  if (!decoded || !IsUtf8(*decoded)) return std::nullopt;
  return decoded;
}

// What is there must match; what is missing is a later rung.
std::optional<RpcError> CheckAgainstBody(const Request& request, const Message& message,
                                         std::string_view claimed) {
  const auto version = Trimmed(request.protocol_version);
  if (version && *version != claimed) {
    return Mismatch(StrCat("The body names protocol version ", Shown(claimed),
                           " but the MCP-Protocol-Version header says ", Shown(*version), "."));
  }
  const auto method = Trimmed(request.method);
  if (method && *method != message.method) {
    return Mismatch(StrCat("The body names method ", Shown(message.method),
                           " but the Mcp-Method header says ", Shown(*method), "."));
  }
  return std::nullopt;
}

std::optional<RpcError> CheckStandardHeaders(const Request& request, const Message& message) {
  if (!request.protocol_version) return Mismatch("The MCP-Protocol-Version header is missing.");
  if (!request.method) return Mismatch("The Mcp-Method header is missing.");
  const json::value* name = NameOf(message);
  if (name == nullptr || !name->is_string()) return std::nullopt;
  const auto header = Trimmed(request.name);
  if (!header) return Mismatch("The Mcp-Name header is missing.");
  const std::optional<std::string> decoded = DecodedHeader(*header);
  if (!decoded) return Mismatch("The Mcp-Name header is marked as base64 but isn't.");
  if (*decoded == std::string_view(name->get_string())) return std::nullopt;
  return Mismatch(StrCat("The body names ", Shown(name->get_string()),
                         " but the Mcp-Name header says ", Shown(*decoded), "."));
}

Classified ClassifyModern(const Request& request, const Message& message,
                          const json::value& claim) {
  if (!claim.is_string()) return BadParams(StrCat("_meta: ", kVersionKey, " must be a string."));
  const std::string_view claimed = claim.get_string();
  const bool is_request = message.kind == Message::Kind::kRequest;
  if (is_request && !HasCapabilities(message)) {
    return BadParams(StrCat("_meta: ", kCapabilitiesKey, " is missing or no object."));
  }
  if (auto error = CheckAgainstBody(request, message, claimed)) return *std::move(error);
  if (claimed != kModernVersion) return Unsupported(claimed, /*modern=*/true);
  if (is_request) {
    if (auto error = CheckStandardHeaders(request, message)) return *std::move(error);
  }
  return Route{.era = Era::kModern, .version = std::string(claimed)};
}

// A modern header over a body that claims nothing. Whoever shows in any other way that the request
// is meant to be modern is told what is missing. A bare header isn't enough: claude.ai sends its
// newest version there after it negotiated an older one, and is served by that.
Classified ClassifyBareHeader(const Request& request, const Message& message) {
  const bool meant_modern = request.method || HasReservedMeta(message) ||
                            message.method == "server/discover" ||
                            message.method == "subscriptions/listen";
  if (meant_modern) {
    return BadParams(
        StrCat("The MCP-Protocol-Version header names a revision whose requests carry "
               "_meta: ",
               kVersionKey, " is missing."));
  }
  return Route{.era = Era::kLegacy, .version = std::string(kLegacyVersions.front())};
}

// Notifications need no claim: the header decides.
Classified ClassifyBareNotification(const Request& request, const Message& message,
                                    std::string_view version) {
  const bool served = version == kModernVersion;
  if (request.method && !served) return Unsupported(version, /*modern=*/true);
  if (auto error = CheckAgainstBody(request, message, version)) return *std::move(error);
  if (served) return Route{.era = Era::kModern, .version = std::string(version)};
  return Route{.era = Era::kLegacy, .version = std::string(kLegacyVersions.front())};
}

Classified ClassifyLegacy(const Request& request) {
  const auto version = Trimmed(request.protocol_version);
  if (!version) return Route{.era = Era::kLegacy, .version = std::string(kUnnamedVersion)};
  if (!IsLegacyVersion(*version)) return Unsupported(*version, /*modern=*/false);
  return Route{.era = Era::kLegacy, .version = std::string(*version)};
}

}  // namespace

const json::object& DeclaredIn(const json::object& meta) {
  static const json::object* const none = new json::object();
  const json::object* declared = CapabilitiesIn(&meta);
  return declared == nullptr ? *none : *declared;
}

Classified Classify(const Request& request, const Message& message) {
  if (message.kind == Message::Kind::kResponse) return Route{};
  // The handshake is never refused by a header: the version is in its body.
  if (message.method == "initialize" && !IsWholeModernRequest(message)) return Route{};
  if (const json::value* claim = ClaimOf(message)) {
    return ClassifyModern(request, message, *claim);
  }
  const auto version = Trimmed(request.protocol_version);
  if (!version || !NamesModernVersion(*version)) return ClassifyLegacy(request);
  if (message.kind == Message::Kind::kRequest) return ClassifyBareHeader(request, message);
  return ClassifyBareNotification(request, message, *version);
}

Classified ClassifyBatch(const Request& request, const std::vector<Message>& messages) {
  const auto version = Trimmed(request.protocol_version);
  bool modern = version && NamesModernVersion(*version);
  for (const Message& message : messages) modern = modern || ClaimOf(message) != nullptr;
  if (modern) {
    return RpcError{.code = kInvalidRequest,
                    .message = "This revision has no arrays of messages: send them one by one.",
                    .data = {}};
  }
  return ClassifyLegacy(request);
}

}  // namespace sandkeep::mcp
