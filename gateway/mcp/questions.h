// What a call asks of its client before it can go on, as 2026-07-28 has it: the call ends with
// questions, and the client makes it again with the answers and with what we wanted to remember.
// That travels through the client, so it is sealed: bound to the principal, the method and the
// name that was called, and good for kRequestStateLifetime. The key is this process's own: after a
// restart a client is told to begin again. Older revisions have no such thing. Thread-safe.
#pragma once

#include <boost/json/object.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "common/clock.h"
#include "common/random.h"
#include "gateway/mcp/json_rpc.h"

namespace sandkeep::mcp {

struct Questions {
  // By a name of ours: `{"method":…,"params":…}`, with a method that asks a client.
  boost::json::object requests;
  // What the next round is told; empty: nothing.
  std::string state;
};

class StateSeal {
 public:
  StateSeal(Random& random, Clock& clock) : key_(random.Bytes(32)), clock_(clock) {}

  // `bound_to`: what must be the same again.
  std::string Close(std::string_view bound_to, std::string_view state) const;
  // InvalidArgument: not ours, changed, for something else, or too old.
  absl::StatusOr<std::string> Open(std::string_view bound_to, std::string_view sealed) const;

 private:
  std::string Signature(std::string_view bound_to, std::string_view content) const;

  const std::string key_;
  Clock& clock_;
};

// The error for questions that this client declared no way to answer; nullopt: it can answer all.
std::optional<RpcError> MissingCapability(const Questions& questions,
                                          const boost::json::object& declared);

}  // namespace sandkeep::mcp
