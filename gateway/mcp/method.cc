#include "gateway/mcp/method.h"

#include <utility>

#include "gateway/mcp/tool_error.h"

namespace sandkeep::mcp {

RpcError ErrorOf(const absl::Status& status) {
  const bool callers = absl::IsInvalidArgument(status) || absl::IsNotFound(status);
  return RpcError{
      .code = callers ? kInvalidParams : kInternalError, .message = SentenceOf(status), .data = {}};
}

const boost::json::string* TextIn(const boost::json::object& params, std::string_view name) {
  const boost::json::value* value = params.if_contains(boost::json::string_view(name));
  return value == nullptr ? nullptr : value->if_string();
}

}  // namespace sandkeep::mcp
