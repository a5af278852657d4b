#include "agent/sandbox/capacity.h"

#include <algorithm>
#include <chrono>
#include <vector>

#include "agent/sandbox/registry.h"
#include "common/limits.h"
#include "common/pause.h"
#include "common/strings.h"

namespace sandkeep {
namespace {

std::string Ago(absl::Duration time) {
  const std::int64_t seconds = std::max<std::int64_t>(absl::ToInt64Seconds(time), 0);
  if (seconds < 120) return StrCat(seconds, " s");
  if (seconds < 7200) return StrCat(seconds / 60, " min");
  return StrCat(seconds / 3600, " h");
}

}  // namespace

Async<void> Capacity::Admit(PrincipalId principal) {
  Refused refused;
  const auto begun = std::chrono::steady_clock::now();
  while (!TryTake()) {
    std::shared_ptr<Sandbox> victim = Victim(refused);
    if (!victim) {
      const auto waited = std::chrono::steady_clock::now() - begun;
      const bool settled = refused.empty() && AllHoldersAreBusy();
      const auto patience = settled ? kRoomPatience : kUnsettledPatience;
      if (waited >= patience) co_return AllBusy(principal);
      refused.clear();
      const auto pause = waited < kRoomPatience ? kRoomPoll : kUnsettledPoll;
      co_await Pause(pause);
      continue;
    }
    // Its place is anybody's once it is free: if another call takes it, the next one is asked.
    const absl::StatusOr<bool> made = co_await victim->MakeRoom();
    if (!made.ok() || !*made) refused.insert(std::move(victim));
  }
  co_return absl::OkStatus();
}

bool Capacity::TryTake() {
  const std::lock_guard lock(mutex_);
  if (used_ >= max_running_) return false;
  ++used_;
  return true;
}

void Capacity::TakeOver() {
  const std::lock_guard lock(mutex_);
  ++used_;
}

void Capacity::Release() {
  const std::lock_guard lock(mutex_);
  --used_;
}

bool Capacity::has_free_place() const {
  const std::lock_guard lock(mutex_);
  return used_ < max_running_;
}

int Capacity::used() const {
  const std::lock_guard lock(mutex_);
  return used_;
}

std::shared_ptr<Sandbox> Capacity::Victim(const Refused& refused) const {
  std::shared_ptr<Sandbox> oldest;
  absl::Time oldest_use = absl::InfiniteFuture();
  const Clock::Monotonic now = clock_.Steady();
  for (const std::shared_ptr<Sandbox>& sandbox : registry_.All()) {
    const absl::Time last_used = sandbox->Peek([&](const SandboxView& view) {
      const bool yields =
          view.snapshot.state == SandboxState::kRunning && Yields(view.activity, now);
      return yields ? view.snapshot.last_used : absl::InfiniteFuture();
    });
    if (last_used >= oldest_use || refused.contains(sandbox)) continue;
    oldest = sandbox;
    oldest_use = last_used;
  }
  return oldest;
}

bool Capacity::AllHoldersAreBusy() const {
  const std::vector<std::shared_ptr<Sandbox>> all = registry_.All();
  return std::none_of(all.begin(), all.end(), [](const std::shared_ptr<Sandbox>& sandbox) {
    return sandbox->Peek(
        [](const SandboxView& view) { return view.has_place && !IsBusy(view.activity); });
  });
}

absl::Status Capacity::AllBusy(const PrincipalId& principal) const {
  std::vector<SandboxView> own;
  for (const std::shared_ptr<Sandbox>& sandbox : registry_.All()) {
    SandboxView view = sandbox->View();
    // One that waits for a place, as the caller's does, is busy and has none.
    const bool has_place = view.snapshot.state == SandboxState::kRunning;
    if (has_place && view.snapshot.busy && sandbox->principal() == principal) {
      own.push_back(std::move(view));
    }
  }
  std::sort(own.begin(), own.end(),
            [](const auto& a, const auto& b) { return a.busy_since < b.busy_since; });
  std::string yours;
  for (const SandboxView& view : own) {
    StrAppend(&yours, yours.empty() ? ": " : ", ", view.snapshot.label.text(), " for ",
              Ago(clock_.Now() - view.busy_since));
  }
  return absl::ResourceExhaustedError(StrCat(
      "all ", max_running_, " sandboxes that may run at once are busy with commands (", own.size(),
      " of them yours", yours, "): try again in a minute, or stop one of your commands first"));
}

std::string Capacity::LongestUnused(const PrincipalId& principal) const {
  std::vector<SandboxSnapshot> own;
  for (const std::shared_ptr<Sandbox>& sandbox : registry_.All()) {
    if (sandbox->principal() == principal) own.push_back(sandbox->View().snapshot);
  }
  std::sort(own.begin(), own.end(),
            [](const auto& a, const auto& b) { return a.last_used < b.last_used; });
  std::string oldest;
  for (std::size_t i = 0; i < own.size() && i < kNamedAtCap; ++i) {
    StrAppend(&oldest, oldest.empty() ? "" : ", ", own[i].label.text());
  }
  return oldest;
}

absl::Status Capacity::MayMakeAnother(const PrincipalId& principal) const {
  const std::vector<std::shared_ptr<Sandbox>> all = registry_.All();
  const auto own = std::count_if(all.begin(), all.end(),
                                 [&](const auto& one) { return one->principal() == principal; });
  const bool all_full = all.size() >= kMaxSandboxes;
  if (own < kMaxSandboxesEach && !all_full) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      StrCat(all_full ? "this host has as many sandboxes as it can: "
                      : "you have as many sandboxes as you may: ",
             "use one that exists, or remove one that nobody needs with its files (remove_sandbox "
             "with files=true). You have ",
             own, ", the longest unused are: ", LongestUnused(principal)));
}

}  // namespace sandkeep
