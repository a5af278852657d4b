// Says to systemd, as often as its watchdog wants to hear it, that an executor still turns. Where
// no watchdog is asked for it ends at once. To be spawned on the executor that is meant.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <chrono>

#include "common/notify.h"
#include "common/pause.h"

namespace sandkeep {

inline boost::asio::awaitable<void> FeedWatchdog() {
  const auto interval = WatchdogInterval();
  while (interval.has_value()) {
    Notify("WATCHDOG=1").IgnoreError();
    co_await Pause(std::chrono::duration_cast<std::chrono::milliseconds>(*interval));
  }
}

}  // namespace sandkeep
