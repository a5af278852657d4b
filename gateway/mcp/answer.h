// What one message is answered, before it becomes a reply of the endpoint. Plain values; any
// thread.
#pragma once

#include <string>
#include <string_view>

#include "gateway/mcp/endpoint.h"
#include "gateway/mcp/json_rpc.h"

namespace sandkeep::mcp {

// Empty: a notification, which has none.
struct Answer {
  Disposition disposition = Disposition::kOk;
  std::string body;
  std::string session = {};
};

// `result` is JSON text.
inline Answer ResultOf(const Message& message, std::string_view result) {
  return Answer{.disposition = Disposition::kOk, .body = ResultBody(message.id, result)};
}

inline Answer ErrorTo(const Message& message, const RpcError& error,
                      Disposition disposition = Disposition::kOk) {
  return Answer{.disposition = disposition, .body = ErrorBody(message.id, error)};
}

}  // namespace sandkeep::mcp
