// What links are signed and judged with, in memory. The database's thread reads it again after each
// change, so that `links rotate` and `links revoke` beside a running gateway count within a second.
// Snapshots are taken from any thread.
#pragma once

#include <memory>
#include <mutex>
#include <utility>

#include "gateway/downloads/link_table.h"

namespace sandkeep {

class LinkBook {
 public:
  explicit LinkBook(LinkSecrets secrets)
      : secrets_(std::make_shared<const LinkSecrets>(std::move(secrets))) {}

  std::shared_ptr<const LinkSecrets> Snapshot() const {
    const std::lock_guard lock(mutex_);
    return secrets_;
  }

  // Blocks on the disk; what can't be read leaves what was known.
  absl::Status ReadAgain(LinkTable& table);

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const LinkSecrets> secrets_;
};

}  // namespace sandkeep
