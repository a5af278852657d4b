// The questions that the suite's fixtures ask a client, and whether an answer is one.
#pragma once

#include <boost/json/object.hpp>
#include <string_view>

#include "gateway/mcp/call_context.h"

namespace sandkeep::mcp {

// A form with one field.
boost::json::object AskPerson(std::string_view message, std::string_view field,
                              std::string_view type = "string");
boost::json::object AskModel(std::string_view text);
boost::json::object AskForRoots();

// Every one of the questions has an answer of its kind.
bool AllAnswered(const CallContext& context, const boost::json::object& questions);

// A field of the form that was sent back under the question's name; nullptr: none of that kind.
const boost::json::value* FieldOf(const CallContext& context, std::string_view question,
                                  std::string_view field);

}  // namespace sandkeep::mcp
