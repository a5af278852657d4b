#include "gateway/mcp/tools/tool.h"

#include <algorithm>

namespace sandkeep::mcp {
namespace {

// What the other members of a result and the line of facts may need beside the output.
constexpr std::size_t kResultSlack = 8192;
// The largest that the client that knows this figure accepts.
constexpr std::size_t kMaxResultChars = 500000;

}  // namespace

boost::json::object Property(std::string_view type, std::string_view description) {
  boost::json::object property;
  property["type"] = boost::json::string_view(type);
  property["description"] = boost::json::string_view(description);
  return property;
}

boost::json::object IntegerProperty(std::int64_t minimum, std::string_view description) {
  boost::json::object property = Property("integer", description);
  property["minimum"] = minimum;
  return property;
}

std::size_t ResultChars(const EndpointSettings& settings) {
  return std::min(settings.max_output_bytes + kResultSlack, kMaxResultChars);
}

}  // namespace sandkeep::mcp
