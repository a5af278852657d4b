// Garbage collection: what nobody needs any more, said line by line, and removed if GC_DELETE=1.

#include <set>
#include <utility>

#include "absl/time/time.h"
#include "agent/sandbox/garbage.h"
#include "agent/sandbox/manager.h"
#include "agent/sandbox/spools.h"
#include "common/limits.h"
#include "common/run_on.h"
#include "common/status_macros.h"
#include "common/strings.h"

namespace sandkeep {

Async<std::vector<GarbageDecision>> Manager::Judge() {
  // Before the engine's objects: what the pool adds meanwhile is in none of the two.
  CO_ASSIGN_OR_RETURN(EngineObjects objects, co_await context_.runtime.ListOurs());
  CO_ASSIGN_OR_RETURN(const std::vector<WarmRow> warm, co_await context_.store.LoadWarm());
  std::set<EngineName> pool;
  for (const WarmRow& row : warm) pool.insert(row.volume);
  std::erase_if(objects.containers, [&](const auto& one) { return pool.contains(one.volume); });
  std::erase_if(objects.volumes, [&](const auto& one) { return pool.contains(one.name); });
  auto look = [this, &objects]() { return FindGarbage(registry_, objects, context_.state_dir); };
  CO_ASSIGN_OR_RETURN(std::vector<GarbageDecision> decisions,
                      co_await RunOn(context_.disk, std::move(look)));
  for (const std::shared_ptr<Sandbox>& sandbox : registry_.All()) {
    decisions.push_back(co_await JudgeOne(sandbox));
  }
  const absl::StatusOr<std::vector<OldImage>> images = co_await context_.runtime.ListOldImages();
  if (!images.ok()) {
    Log(Severity::kWarning, "gc.images_unknown", {{"why", images.status()}});
    co_return decisions;
  }
  for (const OldImage& image : *images) {
    decisions.push_back({.kind = GarbageDecision::Kind::kImage,
                         .name = image.id,
                         .remove = true,
                         .reason = "a newer image has its name, and no container is made of it",
                         .bytes = image.bytes});
  }
  co_return decisions;
}

boost::asio::awaitable<GarbageDecision> Manager::JudgeOne(std::shared_ptr<Sandbox> sandbox) {
  GarbageDecision decision =
      JudgeSandbox(sandbox->View(), sandbox->volume(), limits_.volume_ttl, clock_.Now());
  if (!decision.remove) co_return decision;
  RelPath all = Workspace();
  const absl::StatusOr<MeasuredTree> files = co_await context_.files.Measure(
      sandbox->volume(), std::move(all), absl::FromChrono(kGarbagePatience));
  JudgeFiles(decision, files, limits_.volume_ttl, clock_.Now());
  co_return decision;
}

Async<void> Manager::RemoveUnused(GarbageDecision decision) {
  const std::shared_ptr<Sandbox> sandbox = registry_.Find(*decision.sandbox);
  if (!sandbox) co_return absl::AbortedError("it went by itself");
  co_return co_await sandbox->RemoveUnused(decision.last_used);
}

absl::Status Manager::RemoveSpoolsOfNobody(const std::string& name) {
  const std::string& state_dir = context_.state_dir;
  const absl::StatusOr<SandboxKey> key = SandboxKey::Parse(name);
  if (!key.ok()) return RemoveSpools(state_dir, name);
  // It may have become somebody's since it was judged.
  absl::StatusOr<std::string> aside = std::string();
  registry_.IfNobody(*key, [&] { aside = SetSpoolsAside(state_dir, name, context_.random); });
  RETURN_IF_ERROR(aside.status());
  return aside->empty() ? absl::OkStatus() : RemoveSpools(state_dir, *aside);
}

Async<void> Manager::CarryOut(const GarbageDecision& decision) {
  switch (decision.kind) {
    case GarbageDecision::Kind::kVolume:
      return RemoveUnused(decision);
    case GarbageDecision::Kind::kContainer:
      return context_.runtime.Remove(*EngineName::Parse(decision.name));
    case GarbageDecision::Kind::kImage:
      return context_.runtime.RemoveImage(decision.name);
    case GarbageDecision::Kind::kSpool:
      break;
  }
  auto remove = [this, name = decision.name] { return RemoveSpoolsOfNobody(name); };
  return RunOn(context_.disk, std::move(remove));
}

Async<CollectedGarbage> Manager::CollectGarbage(bool dry_run) {
  CO_RETURN_IF_ERROR(Ready());
  CollectedGarbage collected;
  collected.dry_run = dry_run || !limits_.gc_delete;
  CO_ASSIGN_OR_RETURN(collected.decisions, co_await Judge());
  if (collected.dry_run) co_return collected;
  for (GarbageDecision& decision : collected.decisions) {
    if (!decision.remove) continue;
    const absl::Status removed = co_await CarryOut(decision);
    Log(Severity::kInfo, "gc.decision",
        {{"name", decision.name}, {"why", decision.reason}, {"removed", removed}});
    if (removed.ok()) continue;
    decision.remove = false;
    decision.reason = StrCat("not removed: ", ToStd(removed.message()));
  }
  EmptySoon();
  co_return collected;
}

}  // namespace sandkeep
