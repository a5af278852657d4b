// The sandboxes that are known, by key and by principal and label. Behind a mutex that nobody holds
// across a wait; thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "agent/sandbox/sandbox.h"

namespace sandkeep {

class Registry {
 public:
  // nullptr: none.
  std::shared_ptr<Sandbox> Find(const SandboxKey& key) const;
  std::shared_ptr<Sandbox> Find(const PrincipalId& principal, const Label& label) const;
  std::vector<std::shared_ptr<Sandbox>> All() const;
  std::size_t size() const;

  // Grows when a sandbox comes or goes, and when one's view changes (its holds apart): who looks at
  // all of them by the clock needs no look while it stays.
  std::uint64_t changes() const { return changes_->load(); }
  // Each sandbox holds it: a call that is given up behind the manager's end still says so.
  std::shared_ptr<std::atomic<std::uint64_t>> change_count() const { return changes_; }

  // False: there is one of that key or of that principal and label already.
  bool Add(const std::shared_ptr<Sandbox>& sandbox);
  // Only if it is this very one.
  void Erase(const Sandbox& sandbox);

  // Calls `then` if no sandbox has that key, and none gets it meanwhile: quick, and not this
  // registry again.
  void IfNobody(const SandboxKey& key, const std::function<void()>& then) const;

 private:
  using Name = std::pair<PrincipalId, std::string>;
  static Name NameOf(const PrincipalId& principal, const Label& label) {
    return {principal, label.text()};
  }

  const std::shared_ptr<std::atomic<std::uint64_t>> changes_ =
      std::make_shared<std::atomic<std::uint64_t>>(0);
  mutable std::mutex mutex_;
  std::map<SandboxKey, std::shared_ptr<Sandbox>> by_key_;
  std::map<Name, std::shared_ptr<Sandbox>> by_name_;
};

}  // namespace sandkeep
