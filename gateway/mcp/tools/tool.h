// One tool: what the client is told of it, and what a call does. Implementations keep nothing
// between calls and are thread-safe.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/mcp/call_context.h"
#include "gateway/mcp/endpoint.h"
#include "gateway/mcp/host.h"
#include "gateway/mcp/tool_result.h"
#include "gateway/mcp/tools/arguments.h"

namespace sandkeep::mcp {

// As tools/list shows it. The schema is always a plain object: clients drop every tool of a server
// when one schema is of a form that they don't know.
struct ToolDescription {
  std::string title;
  std::string text;
  boost::json::object properties;  // In the order in which they are shown.
  std::vector<std::string_view> required;
  // All hints are always given: what is left out counts as dangerous.
  bool read_only = false;
  bool destructive = false;
  bool idempotent = false;
  bool open_world = false;
  // A result may have this many characters before a client should cut it; 0: the client's own.
  std::size_t result_chars = 0;
};

class Tool {
 public:
  virtual ~Tool() = default;

  // [a-z0-9_], at most 40: clients put the server's name before it.
  virtual std::string_view name() const = 0;

  // `host` is null as long as the agent has never answered. Same host, same text.
  virtual ToolDescription Describe(const agent::v1::Info* host) const = 0;

  // An error becomes a result that the model sees. Its message is one sentence that says what to
  // do.
  virtual Async<ToolResult> Call(CallContext& context, Arguments arguments) = 0;
};

using Tools = std::vector<std::unique_ptr<Tool>>;

// A schema's property.
boost::json::object Property(std::string_view type, std::string_view description);
// A whole number, at least `minimum`.
boost::json::object IntegerProperty(std::int64_t minimum, std::string_view description);

// For ToolDescription::result_chars of a tool that shows output.
std::size_t ResultChars(const EndpointSettings& settings);

}  // namespace sandkeep::mcp
