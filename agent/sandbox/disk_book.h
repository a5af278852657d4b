// What is known of the disk and who uses it, as the watcher last saw it: asked by calls that can't
// wait for a look. Thread-safe.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "agent/sandbox/disk_terms.h"
#include "agent/sandbox/host.h"
#include "common/ids.h"

namespace sandkeep {

struct DiskShare {
  std::int64_t charged = 0;
  int sandboxes = 0;
  int paused = 0;  // Sandboxes whose commands wait for room.
};

class DiskBook {
 public:
  using Shares = std::map<PrincipalId, DiskShare>;

  void Write(const HostReading& host, Shares shares);
  void Write(const HostReading& host);
  HostReading host() const;
  DiskShare ShareOf(const PrincipalId& principal) const;
  Shares shares() const;

  // False: this sandbox's callers were told of it within kToldAgainAfter.
  bool Tell(const SandboxKey& sandbox, std::string_view kind, absl::Time now);
  void Forget(const SandboxKey& sandbox);

 private:
  mutable std::mutex mutex_;
  HostReading host_;
  Shares shares_;
  std::map<std::pair<SandboxKey, std::string_view>, absl::Time> told_;
};

}  // namespace sandkeep
