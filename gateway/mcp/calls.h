// One call's way: from a message that asks for a tool, or for a method of the registry, to its
// answer. Reads the round of questions that it belongs to, runs it, and words what came of it for
// its era; and ends a call that an older revision's client has given up. Thread-safe; all that it
// is made of outlives it, and it outlives every call.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/json/object.hpp>
#include <string>
#include <string_view>

#include "agent/client/agent_client.h"
#include "gateway/mcp/answer.h"
#include "gateway/mcp/call_context.h"
#include "gateway/mcp/era.h"
#include "gateway/mcp/host.h"
#include "gateway/mcp/method.h"
#include "gateway/mcp/questions.h"
#include "gateway/mcp/running_calls.h"
#include "gateway/mcp/tools/toolbox.h"

namespace sandkeep::mcp {

class Calls {
 public:
  Calls(AgentClient& agent, Host& host, Toolbox& toolbox, Random& random, Clock& clock)
      : agent_(agent), host_(host), toolbox_(toolbox), seal_(random, clock) {}

  // `tools/call`.
  boost::asio::awaitable<Answer> CallTool(const Request& request, EventSink& events,
                                          Message& message, const Route& route);
  boost::asio::awaitable<Answer> CallMethod(Method& method, const Request& request,
                                            EventSink& events, Message& message,
                                            const Route& route);
  // `notifications/cancelled`, of an older revision's call. Its answer comes when the job has
  // ended.
  boost::asio::awaitable<void> Cancel(const Request& request, const Message& message);

 private:
  // What a call that is made again brings along from the round before.
  struct Round {
    boost::json::object answers;
    std::string state;
  };

  // InvalidArgument: the state is none of ours.
  absl::StatusOr<Round> RoundOf(const Message& message, Era era, std::string_view bound_to) const;
  CallContext ContextOf(const Request& request, Message& message, Era era, Round round,
                        boost::json::object meta, Progress& progress, EventSink& events);
  Answer Ask(const CallContext& context, const Message& message, const Questions& questions,
             std::string_view bound_to) const;
  static boost::asio::awaitable<ToolResult> Run(Tool& tool, CallContext& context,
                                                Arguments arguments);

  AgentClient& agent_;
  Host& host_;
  Toolbox& toolbox_;
  const StateSeal seal_;
  RunningCalls running_calls_;
};

}  // namespace sandkeep::mcp
