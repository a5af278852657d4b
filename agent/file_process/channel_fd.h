// The number under which sandkeep-files finds its end of the channel to the agent.
#pragma once

namespace sandkeep {

inline constexpr int kFileProcessChannelFd = 3;

}  // namespace sandkeep
