// The places for running sandboxes (SANDBOX_MAX): counts them and makes room by freezing the least
// recently used one that can give up its place. Frozen ones, and those that wait for a first label,
// take none. Also the caps of each principal. Thread-safe.
#pragma once

#include <memory>
#include <mutex>
#include <set>

#include "agent/sandbox/sandbox.h"

namespace sandkeep {

class Registry;

class Capacity {
 public:
  Capacity(const Registry& registry, const Clock& clock, int max_running)
      : registry_(registry), clock_(clock), max_running_(max_running) {}

  // Takes a place for a sandbox of `principal`; given back by Release. ResourceExhausted: every one
  // is taken by a sandbox that stays busy for kRoomPatience (one whose command has just ended is
  // busy until its last process is gone), or isn't known to be free for kUnsettledPatience; the
  // message says how many, whose, since when and what to
  // do: this principal's by name, of others only how many.
  Async<void> Admit(PrincipalId principal);
  // Takes one that is free. False: none is.
  bool TryTake();
  // A place for one that runs already, whatever the limit says.
  void TakeOver();
  void Release();

  int used() const;
  bool has_free_place() const;

  // Whether a principal may have one more sandbox. ResourceExhausted: no; the message names those
  // that it has not used for longest, and how they are removed.
  absl::Status MayMakeAnother(const PrincipalId& principal) const;
  // Up to kNamedAtCap labels of its sandboxes, as text.
  std::string LongestUnused(const PrincipalId& principal) const;
  std::shared_ptr<PrincipalUse> UseOf(const PrincipalId& principal) { return uses_.Of(principal); }

 private:
  // Sandboxes that this call has asked in vain, held so that none takes another's address.
  using Refused = std::set<std::shared_ptr<Sandbox>>;

  std::shared_ptr<Sandbox> Victim(const Refused& refused) const;
  // False: a place is held by one of which isn't known yet whether it works: it is being taken over
  // from an earlier agent, or its end is looked into.
  bool AllHoldersAreBusy() const;
  absl::Status AllBusy(const PrincipalId& principal) const;

  const Registry& registry_;
  const Clock& clock_;
  PrincipalUses uses_;
  const int max_running_;
  mutable std::mutex mutex_;
  int used_ = 0;
};

}  // namespace sandkeep
