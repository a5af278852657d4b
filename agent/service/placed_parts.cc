#include "agent/service/placed_parts.h"

#include "common/limits.h"
#include "common/strings.h"

namespace sandkeep {

std::string PlacedParts::KeyOf(const Generation& generation, const std::string& part) {
  return StrCat(generation.hex(), "/", part);
}

void PlacedParts::Note(const Generation& generation, const std::string& part,
                       const FileEntry& file) {
  const std::string key = KeyOf(generation, part);
  const std::lock_guard lock(mutex_);
  if (files_.insert_or_assign(key, file).second) order_.push_back(key);
  while (order_.size() > kMaxPlacedParts) {
    files_.erase(order_.front());
    order_.pop_front();
  }
}

void PlacedParts::Forget(const Generation& generation, const std::string& part) {
  const std::string key = KeyOf(generation, part);
  const std::lock_guard lock(mutex_);
  if (files_.erase(key) > 0) std::erase(order_, key);
}

std::optional<FileEntry> PlacedParts::Find(const Generation& generation,
                                           const std::string& part) const {
  const std::lock_guard lock(mutex_);
  const auto found = files_.find(KeyOf(generation, part));
  if (found == files_.end()) return std::nullopt;
  return found->second;
}

}  // namespace sandkeep
