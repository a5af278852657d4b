#include "gateway/downloads/link_book.h"

#include "common/status_macros.h"

namespace sandkeep {

absl::Status LinkBook::ReadAgain(LinkTable& table) {
  ASSIGN_OR_RETURN(LinkSecrets secrets, table.Load());
  auto fresh = std::make_shared<const LinkSecrets>(std::move(secrets));
  const std::lock_guard lock(mutex_);
  secrets_.swap(fresh);
  return absl::OkStatus();
}

}  // namespace sandkeep
