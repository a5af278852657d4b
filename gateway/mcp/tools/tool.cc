#include "gateway/mcp/tools/tool.h"

namespace sandkeep::mcp {

boost::json::object Property(std::string_view type, std::string_view description) {
  boost::json::object property;
  property["type"] = boost::json::string_view(type);
  property["description"] = boost::json::string_view(description);
  return property;
}

}  // namespace sandkeep::mcp
