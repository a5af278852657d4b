// The `sandbox` argument: which sandbox a call is for. Any thread.
#pragma once

#include <string>

#include "agent/client/agent_client.h"
#include "common/async.h"
#include "gateway/mcp/tools/tool.h"

namespace sandkeep::mcp {

// The argument's description in every schema. Names no label: every model would copy it.
inline constexpr std::string_view kSandboxDescription =
    "Label of this conversation's sandbox. Make it up once, at the start: two random words and "
    "three random digits, joined by hyphens. Then pass the same label in every call.";

// InvalidArgument, with how to make up a label and the caller's own last ones, if it is missing or
// no label. Sets the context's sandbox.
Async<agent::v1::SandboxRef> RequireSandbox(AgentClient& agent, CallContext& context,
                                            const Arguments& arguments);

// The same where the argument may be left out; nullopt then.
Async<std::optional<agent::v1::SandboxRef>> OptionalSandbox(AgentClient& agent,
                                                            CallContext& context,
                                                            const Arguments& arguments);

}  // namespace sandkeep::mcp
