// How a sandbox's container comes up: woken, started again, or made.

#include <utility>

#include "agent/sandbox/binding.h"
#include "agent/sandbox/capacity.h"
#include "agent/sandbox/host.h"
#include "agent/sandbox/lost.h"
#include "agent/sandbox/sandbox.h"
#include "agent/sandbox/spools.h"
#include "agent/state_dir.h"
#include "common/limits.h"
#include "common/run_on.h"
#include "common/status_macros.h"
#include "common/strings.h"

namespace sandkeep {
struct Sandbox::SharedStart {
  explicit SharedStart(const boost::asio::any_io_executor& strand) : done(strand) {}
  std::optional<absl::StatusOr<Arrival>> result;
  StrandSignal done;
};

Async<Arrival> Sandbox::EnsureRunning() {
  const bool never_used = row_.last_used == absl::InfinitePast();
  if (!start_ && state_ == SandboxState::kRunning && resting_ == 0) {
    co_return never_used ? Arrival::kNew : Arrival::kRunning;
  }
  if (start_) {
    const std::shared_ptr<SharedStart> start = start_;
    while (!start->result) co_await start->done.Wait();
    co_return *start->result;
  }
  const auto start = std::make_shared<SharedStart>(strand_);
  start_ = start;
  absl::StatusOr<Arrival> arrival = co_await StartLocked();
  // Only then is anything in it lost.
  if (arrival.ok() && never_used) arrival = Arrival::kNew;
  start->result = arrival;
  start_.reset();
  start->done.WakeAll();
  co_return arrival;
}

Async<Arrival> Sandbox::StartLocked() {
  const StrandLock::Guard guard = co_await lock_.Acquire();
  if (forgotten_) co_return absl::AbortedError("the sandbox was removed");
  if (state_ == SandboxState::kRunning) co_return Arrival::kRunning;
  if (state_ == SandboxState::kBroken) CO_RETURN_IF_ERROR(co_await Settle());
  while (state_ == SandboxState::kFrozen || state_ == SandboxState::kStopped) {
    const SandboxState from = state_;
    SetState(SandboxState::kStarting);
    const absl::StatusOr<Arrival> woken = co_await Wake(from);
    if (woken.ok()) co_return Running(woken);
    const bool given_up = IsEngineFailure(woken.status()) && wake_failures_ >= kWakeTries;
    if (!PastRepair(woken.status()) && !given_up) co_return woken;
    if (given_up) co_return Running(co_await Replace());
    if (from == SandboxState::kStopped) break;
    CO_RETURN_IF_ERROR(co_await Settle());
  }
  co_return Running(co_await Create());
}

absl::StatusOr<Arrival> Sandbox::Running(absl::StatusOr<Arrival> arrival) {
  if (!arrival.ok()) return BrokenFromInside(arrival.status());
  SetState(SandboxState::kRunning);
  return arrival;
}

Async<Arrival> Sandbox::Wake(SandboxState from) {
  const bool had_place = has_slot_;
  CO_RETURN_IF_ERROR(co_await TakeSlot(from));
  const bool frozen = from == SandboxState::kFrozen;
  Async<void> waking = frozen ? ThawContainer() : Launch();
  const absl::Status woken = co_await std::move(waking);
  if (woken.ok()) {
    ForgetRest();
    if (frozen) co_return Arrival::kWoken;
    // Somebody else had removed it.
    co_return made_anew_ ? Arrival::kRebuilt : Arrival::kRestarted;
  }
  if (from == SandboxState::kStopped && IsEngineFailure(woken)) ++wake_failures_;
  co_await NotWoken(from, woken, had_place);
  co_return woken;
}

Async<void> Sandbox::TakeSlot(SandboxState otherwise) {
  if (has_slot_) co_return absl::OkStatus();
  absl::Status admitted = co_await context_.capacity.Admit(principal_);
  has_slot_ = admitted.ok();
  if (has_slot_) {
    Publish();
  } else {
    SetState(otherwise);
  }
  co_return admitted;
}

void Sandbox::ReleaseSlot() {
  if (std::exchange(has_slot_, false)) context_.capacity.Release();
}

Async<Arrival> Sandbox::Create() {
  // Left from a start or a removal that failed half-way, or past repair.
  if (row_.container) CO_RETURN_IF_ERROR(co_await RemoveContainer(LostContainer()));
  SetState(SandboxState::kStarting);
  const absl::Status created = co_await TryCreate();
  if (created.ok()) co_return Arrival::kRebuilt;
  LogFailure("sandbox.start_failed", created);
  // What it can't undo it logs; the answer is why the start failed.
  (co_await UndoCreate()).IgnoreError();
  co_return created;
}

Async<void> Sandbox::TryCreate() {
  CO_RETURN_IF_ERROR(co_await PrepareDisk());
  CO_RETURN_IF_ERROR(co_await TakeSlot(SandboxState::kStarting));
  SandboxRow intent = row_;
  intent.disk = Peek(DiskRowOf);
  intent.container = warm_ ? warm_->running.name : EngineName::Make(context_.random);
  const absl::Status written = co_await context_.store.PutSandbox(intent);
  // Not the sandbox's damage.
  if (absl::IsDataLoss(written)) co_return absl::InternalError(written.message());
  CO_RETURN_IF_ERROR(written);
  row_.container = intent.container;
  recorded_ = true;
  if (warm_) co_return co_await UseWarm();
  if (!volume_exists_) {
    CO_RETURN_IF_ERROR(co_await context_.runtime.CreateVolume(volume_, BindingText()));
    volume_exists_ = true;
  }
  const absl::Status launched = co_await Launch();
  if (!absl::IsNotFound(launched)) co_return launched;
  const absl::StatusOr<UniqueFd> volume = co_await context_.runtime.OpenVolume(volume_);
  if (!absl::IsNotFound(volume.status())) co_return launched;
  // Somebody removed it by hand: its files are gone, but the sandbox need not be.
  LogFailure("sandbox.volume_lost", launched);
  CO_RETURN_IF_ERROR(co_await context_.runtime.CreateVolume(volume_, BindingText()));
  files_lost_ = true;
  context_.files.Drop(volume_);
  co_return co_await Launch();
}

std::string Sandbox::BindingText() const {
  return FormatBinding({.key = key_,
                        .principal = principal_,
                        .label = label_,
                        .generation = generation_,
                        .created = row_.created});
}

// It is this sandbox's from its row on, and so must not be the pool's any more.
Async<void> Sandbox::UseWarm() {
  RunningContainer running = std::move(warm_->running);
  warm_.reset();
  volume_exists_ = true;
  CO_RETURN_IF_ERROR(co_await context_.store.DeleteWarm(running.name));
  // It runs already, but whether the network is as promised is to be asked now.
  const absl::Status may = co_await context_.runtime.Thaw(running.name);
  if (!may.ok() && !absl::IsUnimplemented(may)) co_return may;
  CO_RETURN_IF_ERROR(co_await context_.runtime.BindVolume(volume_, BindingText()));
  co_return co_await TakeOver(std::move(running), LostContainer());
}

void Sandbox::GiveBackWarm() {
  if (warm_) context_.pool.Return(*std::exchange(warm_, std::nullopt));
}

Async<void> Sandbox::PrepareDisk() {
  auto check = [state_dir = context_.state_dir, folder = SpoolFolder(context_.state_dir, key_),
                floor = volume_exists_ ? 0 : context_.limits.min_free_bytes]() -> absl::Status {
    ASSIGN_OR_RETURN(const std::int64_t free, DiskFreeBytes(state_dir));
    if (free < floor) {
      return absl::ResourceExhaustedError(
          StrCat("the disk is nearly full (", free >> 20, " MiB free, ", floor >> 20,
                 " MiB needed): no new sandbox is made. Use one that exists and delete files "
                 "there, or ask the operator to free space"));
    }
    return MakeFolder(folder);
  };
  return RunOn(context_.disk, std::move(check));
}

Async<void> Sandbox::Launch() {
  const std::string hostname = key_.text();
  CO_ASSIGN_OR_RETURN(RunningContainer running,
                      co_await context_.runtime.Start(*row_.container, volume_, hostname));
  made_anew_ = running.made_anew;
  co_return co_await TakeOver(std::move(running), LostContainer());
}

Async<void> Sandbox::AttachRunning() {
  CO_ASSIGN_OR_RETURN(RunningContainer running, co_await context_.runtime.Attach(*row_.container));
  co_return co_await TakeOver(std::move(running), LostToRestart());
}

Async<void> Sandbox::TakeOver(RunningContainer running, Outcome lost) {
  init_broken_ = false;
  attached_ = false;
  frozen_by_init_ = false;
  {
    const std::lock_guard lock(view_mutex_);
    view_.snapshot.hostname = running.hostname;
  }
  is_frozen_ = std::move(running.is_frozen);
  CO_RETURN_IF_ERROR(co_await jobs_->Attach(std::move(running), std::move(lost)));
  if (init_broken_) co_return absl::InternalError("init broke off as it was taken over");
  attached_ = true;
  co_return absl::OkStatus();
}

// Whose sandbox was never used: a file may have come without a command, or be on its way.
bool Sandbox::MayHoldFiles() const {
  return row_.last_used != absl::InfinitePast() || files_taken_ || holds_->count() > 0;
}

Async<void> Sandbox::UndoCreate() {
  if (row_.container) {
    const absl::Status removed = co_await RemoveContainer(LostContainer());
    if (!removed.ok()) co_return removed;  // Broken now: the next start begins with it.
  }
  ReleaseSlot();
  SetState(SandboxState::kAbsent);
  GiveBackWarm();
  co_await CloseVolume();
  // Nothing ever ran in it: it was made by this start, or by one that a crash cut short.
  absl::Status forgotten;
  if (!MayHoldFiles()) forgotten = co_await ForgetWithVolume();
  volume_closed_ = forgotten_;
  co_return forgotten;
}

}  // namespace sandkeep
