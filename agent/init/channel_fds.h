// Where the two ends of init's channel stand in PID 1's descriptor table: the contract between
// sandkeep-init, which makes the pair, and agent/runtime, which takes its end with pidfd_getfd.
#pragma once

namespace sandkeep {

inline constexpr int kInitChannelFd = 3;
// Stays open in init, so that the channel outlives every agent.
inline constexpr int kAgentChannelFd = 4;

}  // namespace sandkeep
