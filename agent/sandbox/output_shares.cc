#include "agent/sandbox/output_shares.h"

#include <map>
#include <tuple>

namespace sandkeep {
namespace {

// What one principal holds, and which of its sandboxes has the oldest that could go.
struct Share {
  std::int64_t bytes = 0;
  absl::Time oldest = absl::InfiniteFuture();
  std::shared_ptr<Sandbox> sandbox;
  std::int64_t most_running = 0;
  std::shared_ptr<Sandbox> running;
};

std::map<PrincipalId, Share> SharesOf(const std::vector<std::shared_ptr<Sandbox>>& all) {
  std::map<PrincipalId, Share> shares;
  for (const std::shared_ptr<Sandbox>& sandbox : all) {
    const auto [bytes, oldest, runs] = sandbox->Peek([](const SandboxView& view) {
      return std::tuple(view.output_bytes, view.oldest_output, view.snapshot.running_jobs > 0);
    });
    if (bytes == 0) continue;
    Share& share = shares[sandbox->principal()];
    share.bytes += bytes;
    if (runs && bytes > share.most_running) {
      share.most_running = bytes;
      share.running = sandbox;
    }
    if (oldest >= share.oldest) continue;
    share.oldest = oldest;
    share.sandbox = sandbox;
  }
  return shares;
}

}  // namespace

std::shared_ptr<Sandbox> NextToLoseOutput(const std::vector<std::shared_ptr<Sandbox>>& all,
                                          std::int64_t limit) {
  std::int64_t total = 0;
  const Share* most = nullptr;
  const std::map<PrincipalId, Share> shares = SharesOf(all);
  for (const auto& [principal, share] : shares) {
    total += share.bytes;
    if (share.sandbox == nullptr) continue;
    if (most == nullptr || share.bytes > most->bytes) most = &share;
  }
  if (total <= limit || most == nullptr) return nullptr;
  // Who holds no more than an equal share loses nothing for the others.
  const auto share = limit / static_cast<std::int64_t>(shares.size());
  return most->bytes > share ? most->sandbox : nullptr;
}

std::shared_ptr<Sandbox> NextToNarrow(const std::vector<std::shared_ptr<Sandbox>>& all,
                                      std::int64_t limit) {
  std::int64_t total = 0;
  std::int64_t most = 0;
  std::shared_ptr<Sandbox> next;
  for (const auto& [principal, share] : SharesOf(all)) {
    total += share.bytes;
    if (share.running == nullptr || share.bytes <= most) continue;
    most = share.bytes;
    next = share.running;
  }
  return total > limit ? next : nullptr;
}

}  // namespace sandkeep
