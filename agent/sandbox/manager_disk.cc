// Who takes how much of the disk, and what happens when that is too much: what grows is paused, and
// goes on when there is room again.
//
// Looks cost reading: a sandbox in which nothing happens isn't looked at, one in which something
// does every few seconds, and the rarer the longer a look takes.

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <cstdlib>
#include <utility>

#include "absl/time/time.h"
#include "agent/sandbox/garbage.h"
#include "agent/sandbox/manager.h"
#include "common/limits.h"
#include "common/status_macros.h"
#include "common/strings.h"

namespace sandkeep {
namespace {

bool HasProcesses(const SandboxView& view) {
  return view.snapshot.running_jobs > 0 || view.activity.left_behind > 0;
}

// Nothing that is frozen writes.
bool MayWrite(const SandboxView& view) {
  return HasProcesses(view) && view.snapshot.state != SandboxState::kFrozen;
}

// Without one such, nothing but time changes what the book says.
bool MayChange(const SandboxView& view) {
  return MayWrite(view) || view.paused || view.activity.calls > 0 || view.activity.holds > 0;
}

}  // namespace

DiskTerms Manager::Terms() const {
  return {.sandbox = limits_.sandbox_disk_bytes,
          .principal = limits_.principal_disk_bytes,
          .floor = limits_.min_free_bytes};
}

DiskStanding Manager::StandingOf(const Sandbox& sandbox, const SandboxView& view) const {
  return {.charged = view.disk.charged(),
          .grown = 0,
          .of_principal = disk_book_.ShareOf(sandbox.principal()).charged,
          .free = disk_book_.host().disk_free};
}

boost::asio::awaitable<void> Manager::WatchDisk() {
  co_await WriteDiskBook();
  // What an earlier agent paused goes on, unless there still is no room for it.
  for (const std::shared_ptr<Sandbox>& sandbox : registry_.All()) {
    const bool waits = sandbox->was_paused() && sandbox->Peek(HasProcesses);
    if (waits) co_await LookAt(sandbox);
    const bool paused = sandbox->Peek([](const SandboxView& view) { return view.paused; });
    if (!paused) (co_await sandbox->GoOn()).IgnoreError();
  }
  boost::asio::steady_timer timer(strand_);
  for (int turn = 0;; turn = (turn + 1) % kDiskTurns) {
    co_await LookAtDisk(/*all=*/turn == 0);
    timer.expires_after(absl::ToChronoNanoseconds(limits_.disk_interval / kDiskTurns));
    co_await timer.async_wait(boost::asio::as_tuple(boost::asio::use_awaitable));
  }
}

boost::asio::awaitable<void> Manager::LookAtDisk(bool all) {
  const std::uint64_t changes = registry_.changes();
  if (disk_at_rest_ == changes) {
    if (all) co_await WriteHost();
    co_return;
  }
  const std::vector<std::shared_ptr<Sandbox>> sandboxes = registry_.All();
  const bool active =
      std::any_of(sandboxes.begin(), sandboxes.end(),
                  [](const std::shared_ptr<Sandbox>& sandbox) { return sandbox->Peek(MayChange); });
  if (all || active) co_await WriteDiskBook();
  std::shared_ptr<Sandbox> unknown;
  bool rest = !active;
  for (const std::shared_ptr<Sandbox>& sandbox : sandboxes) {
    bool unmeasured = false;
    const bool due = sandbox->Peek([&](const SandboxView& view) {
      unmeasured = view.recorded && !view.disk.known();
      rest = rest && !WillBeDue(*sandbox, view);
      return IsDue(*sandbox, view);
    });
    if (due) co_await LookAt(sandbox);
    const bool rests = !due && unmeasured && !disk_looks_.contains(sandbox->key());
    if (rests && !unknown) unknown = sandbox;
  }
  // Those in which nothing happens are counted too, but nobody waits for it.
  if (unknown) co_await LookAt(unknown);
  disk_at_rest_ = rest && !unknown ? std::optional(changes) : std::nullopt;
}

boost::asio::awaitable<void> Manager::WriteHost() {
  const absl::StatusOr<HostReading> host = co_await ReadHost();
  if (host.ok()) disk_book_.Write(*host);
}

boost::asio::awaitable<void> Manager::WriteDiskBook() {
  const absl::StatusOr<HostReading> host = co_await ReadHost();
  if (!host.ok()) co_return;
  DiskBook::Shares shares;
  auto look = disk_looks_.begin();
  // Of those that are gone: both are in the order of keys.
  const auto forget_before = [&](const SandboxKey* key) {
    while (look != disk_looks_.end() && (key == nullptr || look->first < *key)) {
      disk_book_.Forget(look->first);
      look = disk_looks_.erase(look);
    }
  };
  for (const std::shared_ptr<Sandbox>& sandbox : registry_.All()) {
    DiskShare& share = shares[sandbox->principal()];
    sandbox->Peek([&share](const SandboxView& view) {
      share.charged += view.disk.charged();
      if (view.paused) ++share.paused;
    });
    ++share.sandboxes;
    forget_before(&sandbox->key());
    if (look != disk_looks_.end() && look->first == sandbox->key()) ++look;
  }
  forget_before(nullptr);
  disk_book_.Write(*host, std::move(shares));
}

bool Manager::WillBeDue(const Sandbox& sandbox, const SandboxView& view) const {
  if (!view.recorded) return false;
  const auto found = disk_looks_.find(sandbox.key());
  if (found == disk_looks_.end()) return HasProcesses(view) || view.snapshot.last_used > began_;
  const DiskLook& look = found->second;
  return view.paused || look.busy || MayWrite(view) || view.snapshot.last_used > look.used;
}

bool Manager::IsDue(const Sandbox& sandbox, const SandboxView& view) const {
  if (!WillBeDue(sandbox, view)) return false;
  const auto found = disk_looks_.find(sandbox.key());
  if (found == disk_looks_.end()) return true;
  const DiskLook& look = found->second;
  const DiskStanding standing = StandingOf(sandbox, view);
  const bool urgent = view.paused || look.free - standing.free > RoomLeft(standing, Terms()) / 2;
  const auto interval =
      absl::ToChronoNanoseconds(limits_.disk_interval / (urgent ? kDiskTurns : 1));
  const auto wait = std::max<std::chrono::nanoseconds>(
      interval, look.cost * (urgent ? kUrgentDiskShare : kUsualDiskShare));
  return std::chrono::steady_clock::now() - look.at >= wait;
}

boost::asio::awaitable<DiskUse> Manager::MeasureUse(EngineName volume, SandboxView view) {
  DiskUse use = view.disk;
  RelPath all = Workspace();
  const absl::StatusOr<MeasuredTree> files = co_await context_.files.Measure(
      std::move(volume), std::move(all), absl::FromChrono(kDiskPatience));
  if (!files.ok()) co_return use;
  use = {.workspace = files->bytes, .layer = 0, .names = files->inodes};
  if (!view.container) co_return use;
  RelPath written = *RelPath::Parse("diff");
  const absl::StatusOr<MeasuredTree> layer = co_await context_.files.Measure(
      *view.container, std::move(written), absl::FromChrono(kDiskPatience));
  use.layer = layer.ok() ? layer->bytes : -1;
  if (layer.ok()) use.names += layer->inodes;
  co_return use;
}

boost::asio::awaitable<void> Manager::LookAt(std::shared_ptr<Sandbox> sandbox) {
  const auto began = std::chrono::steady_clock::now();
  const SandboxView before = sandbox->View();
  const DiskUse use = co_await MeasureUse(sandbox->volume(), before);
  const absl::StatusOr<HostReading> host = co_await ReadHost();
  if (!host.ok()) co_return;
  const auto now = std::chrono::steady_clock::now();
  const bool first = !disk_looks_.contains(sandbox->key());
  DiskLook& look = disk_looks_[sandbox->key()];
  look.at = now;
  look.cost = now - began;
  look.used = before.snapshot.last_used;
  // A command on its way in may be over by the next look.
  look.busy = MayWrite(before) || before.activity.calls > 0;
  look.free = host->disk_free;
  if (!use.known()) co_return;
  sandbox->NoteDiskUse(use);
  DiskStanding standing = StandingOf(*sandbox, sandbox->View());
  standing.of_principal += use.charged() - before.disk.charged();
  standing.free = host->disk_free;
  // A slow writer's growth adds up.
  if (first) look.base = before.disk.known() ? before.disk.charged() : use.charged();
  look.base = std::min(look.base, use.charged());
  standing.grown = use.charged() - look.base;
  // It grew, or the agent before wouldn't have paused it.
  if (first && sandbox->was_paused()) standing.grown = std::max(standing.grown, kLeastGrowth);
  if (standing.grown >= kLeastGrowth) look.base = use.charged();
  co_await Enforce(sandbox, standing);
  co_await WriteDiskRow(std::move(sandbox));
}

// For the next agent, which needn't look at what nobody used since.
boost::asio::awaitable<void> Manager::WriteDiskRow(std::shared_ptr<Sandbox> sandbox) {
  const DiskRow row = sandbox->Peek(DiskRowOf);
  const DiskRow written = disk_looks_[sandbox->key()].written;
  const auto near = [](std::int64_t a, std::int64_t b) {
    return a >= 0 && b >= 0 && std::abs(a - b) < kLeastGrowth;
  };
  const bool same = row.paused == written.paused && near(row.workspace, written.workspace) &&
                    (row.layer == written.layer || near(row.layer, written.layer));
  if (same) co_return;
  const absl::Status put = co_await context_.store.SetDisk(sandbox->key(), row);
  if (put.ok()) disk_looks_[sandbox->key()].written = row;
}

boost::asio::awaitable<void> Manager::Enforce(std::shared_ptr<Sandbox> sandbox,
                                              DiskStanding standing) {
  const SandboxView view = sandbox->View();
  const std::string reason = TooMuch(standing, Terms());
  DiskTerms& waits_for = disk_looks_[sandbox->key()].waits_for;
  if (!reason.empty() && HasProcesses(view)) {
    waits_for = UsedUp(standing, Terms());
    (co_await sandbox->PauseJobs(reason, standing.charged)).IgnoreError();
    co_return;
  }
  if (!view.paused) co_return;
  // Limits that it never met keep it from nothing.
  if (!HasProcesses(view) || HasRoomAgain(standing, waits_for)) {
    (co_await sandbox->GoOn()).IgnoreError();
  } else {
    // Somebody may have continued what was stopped.
    (co_await sandbox->PauseJobs("", standing.charged)).IgnoreError();
  }
}

absl::Status Manager::MayGrow(const PrincipalId& principal, std::int64_t by) const {
  const DiskTerms terms = Terms();
  const std::int64_t used = disk_book_.ShareOf(principal).charged;
  if (terms.principal == 0 || used + by < terms.principal) return absl::OkStatus();
  return absl::ResourceExhaustedError(StrCat(
      "your sandboxes together use ", DiskWords(used), " of their ", DiskWords(terms.principal),
      " of disk: delete files, or remove a sandbox that nobody needs (remove_sandbox with "
      "files=true). The longest unused are: ",
      capacity_.LongestUnused(principal)));
}

absl::Status Manager::MayGrow(const Sandbox& sandbox, std::int64_t by) const {
  const DiskTerms terms = Terms();
  const std::int64_t used =
      sandbox.Peek([](const SandboxView& view) { return view.disk.charged(); });
  if (terms.sandbox == 0 || used + by < terms.sandbox) return MayGrow(sandbox.principal(), by);
  return absl::ResourceExhaustedError(
      StrCat("this sandbox uses ", DiskWords(used), " of its ", DiskWords(terms.sandbox),
             " of disk, files and packages together: delete what isn't needed first"));
}

void Manager::AddDiskNotes(const Sandbox& sandbox, StartedJob& started) {
  std::vector<DiskWarning> warnings = NearlyTooMuch(StandingOf(sandbox, sandbox.View()), Terms());
  const int sandboxes = disk_book_.ShareOf(sandbox.principal()).sandboxes;
  if (IsNearly(sandboxes, kMaxSandboxesEach)) {
    warnings.push_back(
        {"sandboxes", StrCat("you have ", sandboxes, " of the ", kMaxSandboxesEach,
                             " sandboxes that you may have: use one that exists, or remove those "
                             "that nobody needs (remove_sandbox with files=true)")});
  }
  const int jobs = capacity_.UseOf(sandbox.principal())->running_jobs;
  if (IsNearly(jobs, kMaxRunningJobsEach)) {
    warnings.push_back({"jobs", StrCat(jobs, " of your commands run, of ", kMaxRunningJobsEach,
                                       " that may: stop some, or wait for them")});
  }
  const HostReading host = disk_book_.host();
  if (IsNearly(host.disk_total - host.disk_free, host.disk_total)) {
    warnings.push_back(
        {"host_disk", StrCat("this host's disk is nearly full (", DiskWords(host.disk_free),
                             " free): delete files that nobody needs")});
  }
  for (DiskWarning& warning : warnings) {
    if (!disk_book_.Tell(sandbox.key(), warning.kind, context_.clock.Now())) continue;
    started.notes.push_back(std::move(warning.text));
  }
}

}  // namespace sandkeep
