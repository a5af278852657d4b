#include "agent/sandbox/registry.h"

namespace sandkeep {

std::shared_ptr<Sandbox> Registry::Find(const SandboxKey& key) const {
  const std::lock_guard lock(mutex_);
  const auto found = by_key_.find(key);
  return found == by_key_.end() ? nullptr : found->second;
}

std::shared_ptr<Sandbox> Registry::Find(const PrincipalId& principal, const Label& label) const {
  const std::lock_guard lock(mutex_);
  const auto found = by_name_.find(NameOf(principal, label));
  return found == by_name_.end() ? nullptr : found->second;
}

std::vector<std::shared_ptr<Sandbox>> Registry::All() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<Sandbox>> all;
  all.reserve(by_key_.size());
  for (const auto& [key, sandbox] : by_key_) all.push_back(sandbox);
  return all;
}

std::size_t Registry::size() const {
  const std::lock_guard lock(mutex_);
  return by_key_.size();
}

bool Registry::Add(const std::shared_ptr<Sandbox>& sandbox) {
  const std::lock_guard lock(mutex_);
  Name name = NameOf(sandbox->principal(), sandbox->label());
  if (by_key_.contains(sandbox->key()) || by_name_.contains(name)) return false;
  by_key_.emplace(sandbox->key(), sandbox);
  by_name_.emplace(std::move(name), sandbox);
  ++*changes_;
  return true;
}

void Registry::IfNobody(const SandboxKey& key, const std::function<void()>& then) const {
  const std::lock_guard lock(mutex_);
  if (!by_key_.contains(key)) then();
}

void Registry::Erase(const Sandbox& sandbox) {
  const std::lock_guard lock(mutex_);
  const auto found = by_key_.find(sandbox.key());
  if (found == by_key_.end() || found->second.get() != &sandbox) return;
  // Both maps let go at the end, outside of the reads of `sandbox`.
  const std::shared_ptr<Sandbox> last = std::move(found->second);
  by_key_.erase(found);
  by_name_.erase(NameOf(sandbox.principal(), sandbox.label()));
  ++*changes_;
}

}  // namespace sandkeep
