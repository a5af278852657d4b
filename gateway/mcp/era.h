// Which revision of the protocol a message speaks, and what of it is refused before any method is
// looked at: the ladder of 2026-07-28, in its order.
//
// The body decides, headers are only checked against it. A request whose `_meta` names a protocol
// version is modern; every other one is legacy. Plain functions; any thread.
#pragma once

#include <string>
#include <variant>

#include "gateway/mcp/endpoint.h"
#include "gateway/mcp/json_rpc.h"

namespace sandkeep::mcp {

enum class Era { kModern, kLegacy };

struct Route {
  Era era = Era::kLegacy;
  std::string version;  // The revision by which the answer is made.
};

// The capabilities that a request of 2026-07-28 declares in its `_meta`; empty if none.
const boost::json::object& DeclaredIn(const boost::json::object& meta);

// Always a bad request.
using Classified = std::variant<Route, RpcError>;

// `request` for what the protocol mirrors in headers.
Classified Classify(const Request& request, const Message& message);

// Arrays exist in 2025-03-26 only. Accepted from any legacy client, but only if no element is of
// 2026-07-28.
Classified ClassifyBatch(const Request& request, const std::vector<Message>& messages);

}  // namespace sandkeep::mcp
