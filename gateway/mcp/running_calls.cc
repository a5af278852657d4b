#include "gateway/mcp/running_calls.h"

#include "common/limits.h"
#include "common/strings.h"

namespace sandkeep::mcp {
namespace {

// A principal and a session have no blank in them.
std::string KeyOf(const PrincipalId& principal, std::string_view session,
                  std::string_view request_id) {
  return StrCat(principal.text(), " ", session, " ", request_id);
}

}  // namespace

RunningCalls::Entry::~Entry() {
  if (table_ != nullptr) table_->Remove(key_, job_);
}

RunningCalls::Entry RunningCalls::Add(const PrincipalId& principal, std::string_view session,
                                      std::string_view request_id,
                                      std::shared_ptr<RunningJob> job) {
  const std::lock_guard lock(mutex_);
  if (calls_.size() >= kMaxTrackedCalls) return Entry();
  std::string key = KeyOf(principal, session, request_id);
  calls_.emplace(key, job);
  return Entry(this, std::move(key), std::move(job));
}

std::shared_ptr<RunningJob> RunningCalls::Find(const PrincipalId& principal,
                                               std::string_view session,
                                               std::string_view request_id) const {
  const std::lock_guard lock(mutex_);
  const auto [first, last] = calls_.equal_range(KeyOf(principal, session, request_id));
  if (first == last || std::next(first) != last) return nullptr;
  return first->second;
}

std::size_t RunningCalls::size() const {
  const std::lock_guard lock(mutex_);
  return calls_.size();
}

void RunningCalls::Remove(const std::string& key, const std::shared_ptr<RunningJob>& job) {
  const std::lock_guard lock(mutex_);
  const auto [first, last] = calls_.equal_range(key);
  for (auto it = first; it != last; ++it) {
    if (it->second != job) continue;
    calls_.erase(it);
    return;
  }
}

}  // namespace sandkeep::mcp
