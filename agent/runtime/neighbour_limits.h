// What the kernel counts for all sandboxes together, since they share one user of the host, and
// what one of them could so use up for its neighbours: inotify. Each container has a user namespace
// of its own, and that can be given a limit of its own. Any thread.
#pragma once

#include <sys/types.h>

#include <boost/asio/awaitable.hpp>
#include <cstdint>

namespace sandkeep {

std::int64_t ShareOf(std::int64_t of_host, std::int64_t least);

// Sets both for the user namespace of the container with this init; some milliseconds. What it
// can't do it logs.
boost::asio::awaitable<void> LimitInotify(pid_t init);

}  // namespace sandkeep
