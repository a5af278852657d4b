#include "gateway/mcp/questions.h"

#include <array>
#include <chrono>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "common/digest.h"
#include "common/limits.h"
#include "common/strings.h"
#include "gateway/mcp/base64.h"

namespace sandkeep::mcp {
namespace {

constexpr std::size_t kSignatureBytes = 32;

// Which capability a client needs for what it is asked.
constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kNeeded = {{
    {"elicitation/create", "elicitation"},
    {"sampling/createMessage", "sampling"},
    {"roots/list", "roots"},
}};

absl::Status NotOurs() {
  return absl::InvalidArgumentError(
      "requestState is not what this call was given, or it is too old: make the call anew without "
      "it.");
}

std::int64_t SecondsOf(Clock::Monotonic time) {
  return std::chrono::duration_cast<std::chrono::seconds>(time.time_since_epoch()).count();
}

}  // namespace

std::string StateSeal::Signature(std::string_view bound_to, std::string_view content) const {
  return HmacSha256(key_, StrCat(bound_to.size(), ":", bound_to, content));
}

std::string StateSeal::Close(std::string_view bound_to, std::string_view state) const {
  const std::string content =
      StrCat(SecondsOf(clock_.Steady() + kRequestStateLifetime), " ", state);
  return Base64(StrCat(Signature(bound_to, content), content));
}

absl::StatusOr<std::string> StateSeal::Open(std::string_view bound_to,
                                            std::string_view sealed) const {
  if (sealed.size() > kMaxRequestStateBytes) return NotOurs();
  const std::optional<std::string> bytes = FromBase64(sealed);
  if (!bytes.has_value() || bytes->size() < kSignatureBytes) return NotOurs();
  const std::string_view all = *bytes;
  const std::string_view content = all.substr(kSignatureBytes);
  if (!EqualInConstantTime(all.substr(0, kSignatureBytes), Signature(bound_to, content))) {
    return NotOurs();
  }
  const std::size_t blank = content.find(' ');
  std::int64_t until = 0;
  if (!absl::SimpleAtoi(ToAbsl(content.substr(0, blank)), &until) ||
      SecondsOf(clock_.Steady()) > until) {
    return NotOurs();
  }
  return std::string(content.substr(blank + 1));
}

std::optional<RpcError> MissingCapability(const Questions& questions,
                                          const boost::json::object& declared) {
  boost::json::object missing;
  for (const auto& question : questions.requests) {
    const std::string_view method = question.value().as_object().at("method").as_string();
    for (const auto& [asked, capability] : kNeeded) {
      const boost::json::string_view name(capability);
      if (method == asked && !declared.contains(name)) missing[name] = boost::json::object();
    }
  }
  if (missing.empty()) return std::nullopt;
  RpcError error{
      .code = kMissingClientCapability,
      .message = "This call asks its client for something that the client doesn't offer.",
      .data = {}};
  error.data["requiredCapabilities"] = std::move(missing);
  return error;
}

}  // namespace sandkeep::mcp
