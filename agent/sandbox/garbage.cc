#include "agent/sandbox/garbage.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

#include "agent/sandbox/binding.h"
#include "common/strings.h"

namespace sandkeep {
namespace {

std::int64_t BytesBelow(const std::filesystem::path& folder) {
  std::int64_t bytes = 0;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code unknown;
    const auto size = entry->file_size(unknown);
    if (!unknown) bytes += static_cast<std::int64_t>(size);
  }
  return bytes;
}

std::string WhyUnbound(const VolumeRecord& volume) {
  const absl::StatusOr<Binding> binding = ParseBinding(volume.binding);
  if (!binding.ok()) return "no sandbox names it and no binding can be read: kept, look yourself";
  return StrCat("bound to ", binding->key.text(), ", which has another volume: kept");
}

}  // namespace

GarbageDecision JudgeSandbox(const SandboxView& view, const EngineName& volume, absl::Duration ttl,
                             absl::Time now) {
  const SandboxSnapshot& sandbox = view.snapshot;
  GarbageDecision decision{.kind = GarbageDecision::Kind::kVolume,
                           .name = volume.text(),
                           .reason = StrCat("sandbox ", sandbox.key.text(), ": "),
                           .sandbox = sandbox.key,
                           .last_used = sandbox.last_used};
  const bool rests = sandbox.state == SandboxState::kAbsent ||
                     sandbox.state == SandboxState::kStopped ||
                     sandbox.state == SandboxState::kFrozen;
  if (!rests || sandbox.busy || view.activity.holds > 0) {
    decision.reason += "in use";
    return decision;
  }
  // Of a sandbox that was found again without a database only its making is known.
  if (sandbox.last_used <= sandbox.created) {
    decision.reason += "when it was last used isn't known";
    return decision;
  }
  const absl::Duration unused = now - sandbox.last_used;
  StrAppend(&decision.reason, "unused for ", absl::ToInt64Hours(unused), " h of ",
            absl::ToInt64Hours(ttl));
  decision.remove = unused >= ttl;
  return decision;
}

void JudgeFiles(GarbageDecision& decision, const absl::StatusOr<MeasuredTree>& files,
                absl::Duration ttl, absl::Time now) {
  decision.remove = false;
  if (!files.ok()) {
    StrAppend(&decision.reason,
              ": kept, its files couldn't be looked at: ", ToStd(files.status().message()));
    return;
  }
  decision.bytes = files->bytes;
  const absl::Duration unchanged = now - files->newest;
  if (!files->missing.empty()) {
    StrAppend(&decision.reason, ": kept, ", files->missing);
  } else if (unchanged < ttl) {
    StrAppend(&decision.reason, ": kept, a file changed ",
              std::max<std::int64_t>(absl::ToInt64Hours(unchanged), 0), " h ago");
  } else {
    StrAppend(&decision.reason, ", and no file changed for ", absl::ToInt64Hours(unchanged), " h");
    decision.remove = true;
  }
}

std::vector<std::string> SpoolsOfNobody(const Registry& registry, const std::string& state_dir) {
  std::vector<std::string> spools;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(StrCat(state_dir, "/spools"), error), end;
       !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    const absl::StatusOr<SandboxKey> key = SandboxKey::Parse(name);
    if (!key.ok() || !registry.Find(*key)) spools.push_back(name);
  }
  return spools;
}

absl::StatusOr<std::vector<GarbageDecision>> FindGarbage(const Registry& registry,
                                                         const EngineObjects& objects,
                                                         const std::string& state_dir) {
  using Kind = GarbageDecision::Kind;
  std::set<EngineName> volumes;
  for (const auto& sandbox : registry.All()) volumes.insert(sandbox->volume());
  std::vector<GarbageDecision> decisions;
  for (const ContainerRecord& container : objects.containers) {
    if (volumes.contains(container.volume)) continue;
    decisions.push_back({.kind = Kind::kContainer,
                         .name = container.name.text(),
                         .remove = true,
                         .reason = "no sandbox has its volume"});
  }
  for (const VolumeRecord& volume : objects.volumes) {
    if (volumes.contains(volume.name)) continue;
    decisions.push_back(
        {.kind = Kind::kVolume, .name = volume.name.text(), .reason = WhyUnbound(volume)});
  }
  for (const std::string& name : SpoolsOfNobody(registry, state_dir)) {
    decisions.push_back({.kind = Kind::kSpool,
                         .name = name,
                         .remove = true,
                         .reason = "its sandbox is gone",
                         .bytes = BytesBelow(StrCat(state_dir, "/spools/", name))});
  }
  return decisions;
}

}  // namespace sandkeep
