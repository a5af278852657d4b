// Telling systemd how we are, without its library and its dependencies: sd_notify(3)'s protocol is
// one datagram. Any thread.
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

#include "absl/status/status.h"

namespace sandkeep {

// Sends `state` ("READY=1", "STOPPING=1", "WATCHDOG=1") to $NOTIFY_SOCKET. Ok, and nothing sent,
// when there is none.
absl::Status Notify(std::string_view state);

// How often the watchdog wants to hear from us, half of WATCHDOG_USEC; nullopt: it isn't asked for.
std::optional<std::chrono::microseconds> WatchdogInterval();

}  // namespace sandkeep
