#include "agent/sandbox/principal_use.h"

namespace sandkeep {

std::shared_ptr<PrincipalUse> PrincipalUses::Of(const PrincipalId& principal) {
  const std::lock_guard lock(mutex_);
  std::weak_ptr<PrincipalUse>& known = uses_[principal];
  std::shared_ptr<PrincipalUse> use = known.lock();
  if (!use) {
    use = std::make_shared<PrincipalUse>();
    known = use;
  }
  // Those of principals of whom nothing is known any more.
  std::erase_if(uses_, [](const auto& entry) { return entry.second.expired(); });
  return use;
}

}  // namespace sandkeep
