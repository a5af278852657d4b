// A method of the protocol beside the handshake and the tools. Implementations keep nothing between
// calls and are thread-safe.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/json/object.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "gateway/mcp/call_context.h"
#include "gateway/mcp/json_rpc.h"
#include "gateway/mcp/questions.h"

namespace sandkeep::mcp {

struct MethodResult {
  // The result's own members as JSON, without the braces around them; empty: it has none.
  std::string members;
  // For how many milliseconds a client of 2026-07-28 may keep it; nullopt: not a result that says.
  std::optional<std::int64_t> ttl_ms = std::nullopt;
  // Then there are no members yet.
  std::optional<Questions> questions = std::nullopt;
};

using MethodAnswer = std::variant<MethodResult, RpcError>;

class Method {
 public:
  virtual ~Method() = default;
  virtual std::string_view name() const = 0;
  virtual bool ServedIn(Era /*era*/) const { return true; }
  virtual boost::asio::awaitable<MethodAnswer> Call(CallContext& context,
                                                    boost::json::object params) = 0;
};

using Methods = std::vector<std::unique_ptr<Method>>;

// InvalidArgument and NotFound are the caller's, everything else is ours.
RpcError ErrorOf(const absl::Status& status);
// nullptr: not there, or no text.
const boost::json::string* TextIn(const boost::json::object& params, std::string_view name);

}  // namespace sandkeep::mcp
