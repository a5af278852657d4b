// JSON-RPC 2.0 as MCP uses it: bodies to messages, results and errors to bodies.
//
// An id is a string or an integer and is echoed exactly as it came. Null, fractions and other types
// are refused, as the protocol asks. Plain values; any thread.
#pragma once

#include <boost/json/object.hpp>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace sandkeep::mcp {

// A tool's failure is a result and has no code: these are for messages that aren't understood.
inline constexpr int kParseError = -32700;
inline constexpr int kInvalidRequest = -32600;
inline constexpr int kMethodNotFound = -32601;
inline constexpr int kInvalidParams = -32602;
inline constexpr int kInternalError = -32603;
inline constexpr int kHeaderMismatch = -32020;
inline constexpr int kMissingClientCapability = -32021;
inline constexpr int kUnsupportedProtocolVersion = -32022;

struct Message {
  enum class Kind { kRequest, kNotification, kResponse };
  Kind kind = Kind::kRequest;
  std::string id;  // As JSON text; empty unless a request.
  std::string method;
  boost::json::object params;  // Empty when absent.
};

// What one body held. A batch is an array, however short.
struct Incoming {
  bool batch = false;
  std::vector<Message> messages;
};

struct RpcError {
  int code = kInternalError;
  std::string message;
  boost::json::object data;  // Left out when empty.
};

RpcError BadParams(std::string message);

// A body that isn't a message. The id is echoed if it could be read.
struct Malformed {
  std::string id;
  RpcError error;
};

std::variant<Incoming, Malformed> ParseBody(std::string_view body);

// `{"jsonrpc":"2.0","id":ID,"result":RESULT}`; `result` is JSON text.
std::string ResultBody(std::string_view id, std::string_view result);
// Without an id if that is empty: several clients choke on a null.
std::string ErrorBody(std::string_view id, const RpcError& error);
std::string BatchBody(const std::vector<std::string>& bodies);

}  // namespace sandkeep::mcp
