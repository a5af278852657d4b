// `notifications/progress` of one call, for a client that gave a token: the last line of output, at
// most every kProgressInterval, and at least every kProgressHeartbeat, since clients take it as a
// sign of life. Nothing relies on it: what the client doesn't read in time is dropped. Monotonic
// time. Used by its call's coroutine only.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "gateway/mcp/endpoint.h"

namespace sandkeep::mcp {

class Progress {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  // `token` as JSON text; empty: nobody wants any. The sink outlives it.
  Progress(EventSink& sink, std::string token);

  // Empty: nobody wants any.
  const std::string& token() const { return token_; }
  bool wanted() const { return !token_.empty(); }
  // There is something new to say.
  void SetChanged() { changed_ = true; }
  // When the next one may be sent; never, if nobody wants it.
  TimePoint due() const;
  // Sends it, if it is due.
  void Report(std::string_view message, TimePoint now);

 private:
  EventSink& sink_;
  const std::string token_;
  TimePoint last_;
  bool changed_ = false;
  std::int64_t count_ = 0;
};

}  // namespace sandkeep::mcp
