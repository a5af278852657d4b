// The deadlines of connections; tests have shorter ones. Monotonic time.
#pragma once

#include <chrono>

#include "common/limits.h"

namespace sandkeep::http {

struct Timing {
  using Duration = std::chrono::steady_clock::duration;

  Duration header = kHeaderDeadline;  // From a request's first byte (or the connection's start).
  Duration body = kBodyDeadline;      // The whole of it.
  Duration idle = kIdleDeadline;      // Between two requests.
  Duration write = kWriteDeadline;    // One write.
  Duration linger = kLingerDeadline;
  // Of a call: from then on its client's leaving is seen.
  Duration watch_after = kStreamAfter / 10;
  Duration stream_after = kStreamAfter;
  Duration keep_alive = kKeepAliveInterval;
};

}  // namespace sandkeep::http
