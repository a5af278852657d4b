// One call on its way through the endpoint: who made it, what came with it, and where its events
// go. The endpoint owns what it refers to, longer than the call lasts. Used by its call's coroutine
// only.
#pragma once

#include <boost/json/object.hpp>
#include <string>
#include <string_view>

#include "gateway/mcp/endpoint.h"
#include "gateway/mcp/era.h"
#include "gateway/mcp/progress.h"
#include "gateway/mcp/running_calls.h"

namespace sandkeep::mcp {

struct CallContext {
  const Request& request;
  const Era era;
  const std::string request_id;  // As JSON text.
  // `params._meta`; empty if there is none.
  const boost::json::object meta;
  RunningCalls& running_calls;
  // Of the call; goes nowhere if the client wants none.
  Progress& progress;
  EventSink& events;
  // What the client answered to the questions of the round before; empty in the first one.
  const boost::json::object answers = {};
  // What the round before wanted to remember; as it was, since it came sealed.
  const std::string state = {};
  // The sandbox's normalised label, as soon as the tool knows it: errors name it.
  std::string sandbox = {};

  // By a tool of the persistent profile, which has one sandbox a principal, at /sandbox.
  bool persistent = false;

  const PrincipalId& principal() const { return request.caller.principal; }
  // Empty: the client said nothing of it.
  std::string_view session() const { return request.session; }
  // The answer to the question of that name, if it is an object; else nullptr.
  const boost::json::object* AnswerTo(std::string_view question) const {
    const boost::json::value* answer = answers.if_contains(boost::json::string_view(question));
    return answer == nullptr ? nullptr : answer->if_object();
  }
};

}  // namespace sandkeep::mcp
