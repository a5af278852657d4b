#include "agent/sandbox/reconcile.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "agent/sandbox/binding.h"
#include "agent/sandbox/pool.h"
#include "common/strings.h"

namespace sandkeep {
namespace {

class Reconciler {
 public:
  Reconciler(std::vector<SandboxRow> rows, const EngineObjects& objects) : objects_(objects) {
    for (const VolumeRecord& volume : objects.volumes) volumes_.insert(volume.name);
    for (const ContainerRecord& container : objects.containers) {
      containers_.emplace(container.name, &container);
    }
    for (SandboxRow& row : rows) Add(std::move(row), false);
  }

  RecoveryPlan Run() && {
    for (const VolumeRecord& volume : objects_.volumes) BindVolume(volume);
    for (const ContainerRecord& container : objects_.containers) PlaceContainer(container);
    for (FoundSandbox& found : found_) Decide(std::move(found));
    return std::move(plan_);
  }

 private:
  void Add(SandboxRow row, bool changed) {
    by_volume_.emplace(row.volume, found_.size());
    keys_.insert(row.key);
    labels_.emplace(row.principal, row.label.text());
    found_.push_back({.row = std::move(row), .container = std::nullopt, .row_changed = changed});
  }

  void Keep(const VolumeRecord& volume, std::string reason) {
    plan_.kept_volumes.push_back({.name = volume.name, .reason = std::move(reason)});
  }

  void BindVolume(const VolumeRecord& volume) {
    const auto owner = by_volume_.find(volume.name);
    if (owner != by_volume_.end()) {
      found_[owner->second].bind = volume.binding == kWarmBinding;
      return;
    }
    if (volume.binding == kWarmBinding) return plan_.remove_volumes.push_back(volume.name);
    absl::StatusOr<Binding> binding = ParseBinding(volume.binding);
    if (!binding.ok()) return Keep(volume, std::string(ToStd(binding.status().message())));
    if (keys_.contains(binding->key) ||
        labels_.contains({binding->principal, binding->label.text()})) {
      return Keep(volume, StrCat("its sandbox ", binding->key.text(), " has another volume"));
    }
    // When it was last used went with the database. It has been, or nobody would look for it.
    Add(SandboxRow{.key = std::move(binding->key),
                   .principal = std::move(binding->principal),
                   .label = std::move(binding->label),
                   .generation = std::move(binding->generation),
                   .volume = volume.name,
                   .container = std::nullopt,
                   .created = binding->created,
                   .last_used = binding->created},
        true);
  }

  void PlaceContainer(const ContainerRecord& container) {
    const auto owner = by_volume_.find(container.volume);
    if (owner == by_volume_.end() || container.state == ContainerState::kUnknown) {
      plan_.remove_containers.push_back(container.name);
      return;
    }
    FoundSandbox& found = found_[owner->second];
    const bool named = found.row.container == container.name;
    if (!named && (found.container || NamesOneThatExists(found.row))) {
      plan_.remove_containers.push_back(container.name);
      return;
    }
    found.container = container.state;
    if (named) return;
    if (found.row.container) plan_.gone_containers.push_back(*found.row.container);
    found.row.container = container.name;
    found.row_changed = true;
  }

  bool NamesOneThatExists(const SandboxRow& row) const {
    return row.container && containers_.contains(*row.container);
  }

  void Decide(FoundSandbox found) {
    if (found.row.container && !containers_.contains(*found.row.container)) {
      plan_.gone_containers.push_back(*found.row.container);
    }
    if (!found.container && !volumes_.contains(found.row.volume)) {
      plan_.forget.push_back(found.row.key);
      return;
    }
    if (!found.container && found.row.container) {
      found.row.container.reset();
      found.row_changed = true;
    }
    plan_.sandboxes.push_back(std::move(found));
  }

  const EngineObjects& objects_;
  std::set<EngineName> volumes_;
  std::map<EngineName, const ContainerRecord*> containers_;
  std::vector<FoundSandbox> found_;
  std::map<EngineName, std::size_t> by_volume_;
  std::set<SandboxKey> keys_;
  std::set<std::pair<PrincipalId, std::string>> labels_;
  RecoveryPlan plan_;
};

}  // namespace

RecoveryPlan Reconcile(std::vector<SandboxRow> rows, const EngineObjects& objects) {
  return Reconciler(std::move(rows), objects).Run();
}

}  // namespace sandkeep
