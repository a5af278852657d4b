// What is known of the agent's host, for texts that name its limits: asked of the agent once in a
// while, so that listing the tools costs no call. Thread-safe; of several callers one asks, the
// others take what was known.
#pragma once

#include <memory>
#include <mutex>

#include "agent/client/agent_client.h"
#include "common/async.h"
#include "common/clock.h"

namespace sandkeep::mcp {

using HostInfo = std::shared_ptr<const agent::v1::Info>;

// Whether the host serves one sandbox a principal, without labels. False if it never answered.
bool IsPersistent(const agent::v1::Info* host);

class Host {
 public:
  Host(AgentClient& agent, Clock& clock) : agent_(agent), clock_(clock) {}

  // nullptr: the agent has never answered. Asks at most every kHostFactsAge.
  boost::asio::awaitable<HostInfo> Known();

  // The same, as it was when it last answered: asks nobody.
  HostInfo Last() const;

  // Asks now.
  Async<agent::v1::Info> Fresh();

 private:
  // True for the one caller that is to ask.
  bool TakeTurn();

  AgentClient& agent_;
  Clock& clock_;
  mutable std::mutex mutex_;
  HostInfo info_;
  Clock::Monotonic next_try_{};
};

}  // namespace sandkeep::mcp
