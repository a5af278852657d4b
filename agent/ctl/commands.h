// What sandkeepctl can do, over any AgentClient. The answer is text for people, or with `json` the
// API's own message as JSON on one line.
//
// InvalidArgument: the words are no command of ours; every other error is the agent's.
#pragma once

#include <string>
#include <vector>

#include "agent/client/agent_client.h"
#include "common/async.h"
#include "common/clock.h"

namespace sandkeep {

struct CtlOptions {
  bool json = false;
  bool dry_run = false;
  bool files = false;
};

// `client` and `clock` outlive the call.
Async<std::string> RunCtlCommand(AgentClient& client, const Clock& clock, CtlOptions options,
                                 std::vector<std::string> words);

extern const char kCtlUsage[];

}  // namespace sandkeep
