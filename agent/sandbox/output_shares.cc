#include "agent/sandbox/output_shares.h"

#include <map>

namespace sandkeep {
namespace {

// What one principal holds, and which of its sandboxes has the oldest that could go.
struct Share {
  std::int64_t bytes = 0;
  absl::Time oldest = absl::InfiniteFuture();
  std::shared_ptr<Sandbox> sandbox;
};

std::map<PrincipalId, Share> SharesOf(const std::vector<std::shared_ptr<Sandbox>>& all) {
  std::map<PrincipalId, Share> shares;
  for (const std::shared_ptr<Sandbox>& sandbox : all) {
    const SandboxView view = sandbox->View();
    if (view.output_bytes == 0) continue;
    Share& share = shares[sandbox->principal()];
    share.bytes += view.output_bytes;
    if (view.oldest_output >= share.oldest) continue;
    share.oldest = view.oldest_output;
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

}  // namespace sandkeep
