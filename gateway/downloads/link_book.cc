#include "gateway/downloads/link_book.h"

#include "common/log.h"

namespace sandkeep {

void LinkBook::ReadAgain(LinkTable& table) {
  absl::StatusOr<LinkSecrets> secrets = table.Load();
  if (!secrets.ok()) {
    Log(Severity::kWarning, "links.unreadable", {{"why", secrets.status()}});
    return;
  }
  auto fresh = std::make_shared<const LinkSecrets>(*std::move(secrets));
  const std::lock_guard lock(mutex_);
  secrets_.swap(fresh);
}

}  // namespace sandkeep
