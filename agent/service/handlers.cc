#include "agent/service/handlers.h"

#include <algorithm>
#include <boost/asio/this_coro.hpp>
#include <utility>

#include "agent/service/authorize.h"
#include "agent/service/convert.h"
#include "agent/service/output_range.h"
#include "agent/service/validate.h"
#include "common/limits.h"
#include "common/status_macros.h"
#include "common/strings.h"

namespace sandkeep {

namespace asio = boost::asio;
namespace v1 = agent::v1;

namespace {

void FillRange(v1::ReadOutputResponse* response, OutputRange range) {
  for (const JobGap& gap : range.gaps()) Fill(response->add_gaps(), gap);
  response->set_offset(range.offset());
  response->set_data(std::move(range).data());
}

std::int64_t EndOf(const SettledJob& settled) {
  std::int64_t end = 0;
  for (const SettledJob::Stream& stream : settled.streams) end = std::max(end, stream.size);
  return end;
}

}  // namespace

Handlers::Handlers(SandboxManager& manager, FileServices files, HostFacts facts, Peer peer)
    : manager_(manager), files_(files), facts_(std::move(facts)), peer_(std::move(peer)) {}

absl::Status Handlers::Admit(const Rpc& rpc, const SandboxRef& ref) const {
  if (ref.principal.has_value()) return MayName(peer_, rpc, *ref.principal);
  if (!IsBoundToPrefix(peer_, rpc)) return absl::OkStatus();
  ASSIGN_OR_RETURN(const SandboxSnapshot sandbox, manager_.Get(ref));
  if (MayName(peer_, rpc, sandbox.principal).ok()) return absl::OkStatus();
  return NoSuchSandbox();
}

Async<void> Handlers::StartJob(const v1::StartJobRequest& request, JobEvents& events) {
  CO_ASSIGN_OR_RETURN(StartJobCall call, ParseStartJob(request));
  CO_RETURN_IF_ERROR(MayName(peer_, RpcOf("StartJob"), call.principal));
  // A caller that leaves now has started its job all the same: it will come back and watch it.
  co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
  auto starting =
      manager_.StartJob(std::move(call.principal), std::move(call.label), std::move(call.spec));
  CO_ASSIGN_OR_RETURN(StartedJob started, co_await std::move(starting));
  co_await asio::this_coro::reset_cancellation_state(asio::enable_terminal_cancellation());
  v1::JobEvent first;
  Fill(first.mutable_started(), started);
  // Fails if the caller left meanwhile.
  auto writing = events.Write(std::move(first));
  CO_RETURN_IF_ERROR(co_await std::move(writing));
  auto following = Follow(std::move(started.watcher), events);
  co_return co_await std::move(following);
}

Async<void> Handlers::WatchJob(const v1::WatchJobRequest& request, JobEvents& events) {
  CO_ASSIGN_OR_RETURN(WatchJobCall call, ParseWatchJob(request));
  CO_RETURN_IF_ERROR(Admit(RpcOf("WatchJob"), call.ref));
  auto opening =
      manager_.WatchJob(std::move(call.ref), std::move(call.id), call.from_offset, call.follow);
  CO_ASSIGN_OR_RETURN(WatchedJob watched, co_await std::move(opening));
  auto following = Follow(std::move(watched.watcher), events);
  co_return co_await std::move(following);
}

Async<void> Handlers::Follow(std::unique_ptr<JobWatcher> watcher, JobEvents& events) {
  for (;;) {
    auto waiting = watcher->Next();
    absl::StatusOr<JobEvent> event = co_await std::move(waiting);
    if (absl::IsOutOfRange(event.status())) co_return absl::OkStatus();
    CO_RETURN_IF_ERROR(event.status());
    if (event->kind == JobEvent::Kind::kEndOfWhatThereIs) co_return absl::OkStatus();
    const bool last = event->kind == JobEvent::Kind::kOutcome;
    v1::JobEvent message;
    Fill(&message, *std::move(event));
    if (last) {
      events.WriteLast(std::move(message));
      co_return absl::OkStatus();
    }
    auto writing = events.Write(std::move(message));
    CO_RETURN_IF_ERROR(co_await std::move(writing));
  }
}

Async<void> Handlers::SendInput(const v1::SendInputRequest& request,
                                v1::SendInputResponse& response) {
  CO_ASSIGN_OR_RETURN(SendInputCall call, ParseSendInput(request));
  CO_RETURN_IF_ERROR(Admit(RpcOf("SendInput"), call.ref));
  auto sending =
      manager_.SendInput(std::move(call.ref), std::move(call.id), std::move(call.data), call.end);
  CO_ASSIGN_OR_RETURN(const std::int64_t accepted, co_await std::move(sending));
  response.set_accepted_bytes(accepted);
  co_return absl::OkStatus();
}

Async<void> Handlers::SignalJob(const v1::SignalJobRequest& request,
                                v1::SignalJobResponse& response) {
  CO_ASSIGN_OR_RETURN(SignalJobCall call, ParseSignalJob(request));
  CO_RETURN_IF_ERROR(Admit(RpcOf("SignalJob"), call.ref));
  auto signalling =
      manager_.SignalJob(std::move(call.ref), std::move(call.id), call.signal, call.grace);
  CO_ASSIGN_OR_RETURN(const JobSnapshot job, co_await std::move(signalling));
  Fill(response.mutable_job(), job);
  co_return absl::OkStatus();
}

Async<void> Handlers::ListJobs(const v1::ListJobsRequest& request, v1::ListJobsResponse& response) {
  CO_ASSIGN_OR_RETURN(ListJobsCall call, ParseListJobs(request));
  CO_RETURN_IF_ERROR(Admit(RpcOf("ListJobs"), call.ref));
  auto listing = manager_.ListJobs(std::move(call.ref), call.limit);
  CO_ASSIGN_OR_RETURN(const std::vector<JobSnapshot> jobs, co_await std::move(listing));
  for (const JobSnapshot& job : jobs) Fill(response.add_jobs(), job);
  co_return absl::OkStatus();
}

Async<void> Handlers::ReadOutput(const v1::ReadOutputRequest& request,
                                 v1::ReadOutputResponse& response) {
  CO_ASSIGN_OR_RETURN(ReadOutputCall call, ParseReadOutput(request));
  CO_RETURN_IF_ERROR(Admit(RpcOf("ReadOutput"), call.ref));
  auto opening = manager_.WatchJob(std::move(call.ref), std::move(call.id), call.offset, false);
  CO_ASSIGN_OR_RETURN(WatchedJob watched, co_await std::move(opening));
  Fill(response.mutable_job(), watched.job);
  OutputRange range(call.stream, call.offset, call.limit);
  while (!range.whole()) {
    auto waiting = watched.watcher->Next();
    absl::StatusOr<JobEvent> event = co_await std::move(waiting);
    if (absl::IsOutOfRange(event.status())) break;
    CO_RETURN_IF_ERROR(event.status());
    range.Add(*std::move(event));
  }
  FillRange(&response, std::move(range));
  co_return absl::OkStatus();
}

absl::StatusOr<bool> Handlers::ReadOutputNow(const v1::ReadOutputRequest& request,
                                             v1::ReadOutputResponse& response) const {
  ASSIGN_OR_RETURN(const ReadOutputCall call, ParseReadOutput(request));
  RETURN_IF_ERROR(Admit(RpcOf("ReadOutput"), call.ref));
  ASSIGN_OR_RETURN(const std::optional<SettledJob> settled,
                   manager_.FindSettledJob(call.ref, call.id));
  // Past the end of all there is: a watcher says so.
  if (!settled.has_value() || call.offset > EndOf(*settled)) return false;
  OutputRange range(call.stream, call.offset, call.limit);
  for (const SettledJob::Stream& stream : settled->streams) {
    if (!range.Wants(stream.kind)) continue;
    std::optional<std::vector<JobEvent>> events = OutputNow(stream, call.offset, call.limit);
    if (!events.has_value()) return false;
    for (JobEvent& event : *events) range.Add(std::move(event));
  }
  Fill(response.mutable_job(), settled->job);
  FillRange(&response, std::move(range));
  return true;
}

Async<void> Handlers::ListSandboxes(const v1::ListSandboxesRequest& request,
                                    v1::ListSandboxesResponse& response) {
  CO_ASSIGN_OR_RETURN(ListSandboxesCall call, ParseListSandboxes(request));
  if (call.principal.has_value()) {
    CO_RETURN_IF_ERROR(MayName(peer_, RpcOf("ListSandboxes"), *call.principal));
  } else if (!peer_.operate) {
    co_return absl::InvalidArgumentError("principal: only operators may leave it out");
  }
  auto listing = manager_.List(std::move(call.principal));
  CO_ASSIGN_OR_RETURN(const std::vector<SandboxSnapshot> all, co_await std::move(listing));
  const std::size_t shown = std::min<std::size_t>(all.size(), call.limit);
  for (std::size_t i = 0; i < shown; ++i) Fill(response.add_sandboxes(), all[i]);
  response.set_total(static_cast<int>(all.size()));
  co_return absl::OkStatus();
}

absl::Status Handlers::GetSandbox(const v1::GetSandboxRequest& request,
                                  v1::Sandbox& response) const {
  const Rpc& rpc = RpcOf("GetSandbox");
  ASSIGN_OR_RETURN(const SandboxRef ref, ParseRefOrKey(request.sandbox()));
  if (ref.principal.has_value()) RETURN_IF_ERROR(MayName(peer_, rpc, *ref.principal));
  ASSIGN_OR_RETURN(const SandboxSnapshot sandbox, manager_.Get(ref));
  const bool by_key = !ref.principal.has_value();
  if (by_key && !MayName(peer_, rpc, sandbox.principal).ok()) return NoSuchSandbox();
  Fill(&response, sandbox);
  return absl::OkStatus();
}

Async<void> Handlers::RemoveSandbox(const v1::RemoveSandboxRequest& request,
                                    v1::RemoveSandboxResponse& response) {
  CO_ASSIGN_OR_RETURN(SandboxRef ref, ParseOwnRef(request.sandbox()));
  CO_RETURN_IF_ERROR(Admit(RpcOf("RemoveSandbox"), ref));
  auto removing = manager_.Remove(std::move(ref), request.remove_volume());
  CO_ASSIGN_OR_RETURN(const RemovedSandbox removed, co_await std::move(removing));
  response.set_container_removed(removed.container);
  response.set_volume_removed(removed.volume);
  response.set_jobs_ended(removed.jobs);
  co_return absl::OkStatus();
}

Async<void> Handlers::Freeze(const v1::FreezeRequest& request, v1::Sandbox& response) {
  CO_ASSIGN_OR_RETURN(SandboxRef ref, ParseOwnRef(request.sandbox()));
  CO_RETURN_IF_ERROR(Admit(RpcOf("Freeze"), ref));
  auto freezing = manager_.Freeze(std::move(ref));
  CO_ASSIGN_OR_RETURN(const SandboxSnapshot sandbox, co_await std::move(freezing));
  Fill(&response, sandbox);
  co_return absl::OkStatus();
}

Async<void> Handlers::Thaw(const v1::ThawRequest& request, v1::Sandbox& response) {
  CO_ASSIGN_OR_RETURN(SandboxRef ref, ParseOwnRef(request.sandbox()));
  CO_RETURN_IF_ERROR(Admit(RpcOf("Thaw"), ref));
  auto thawing = manager_.Thaw(std::move(ref));
  CO_ASSIGN_OR_RETURN(const SandboxSnapshot sandbox, co_await std::move(thawing));
  Fill(&response, sandbox);
  co_return absl::OkStatus();
}

Async<void> Handlers::GetInfo(const v1::GetInfoRequest& /*request*/, v1::Info& response) {
  auto asking = manager_.Info();
  CO_ASSIGN_OR_RETURN(const ManagerInfo info, co_await std::move(asking));
  Fill(&response, facts_, info);
  co_return absl::OkStatus();
}

Async<void> Handlers::CollectGarbage(const v1::CollectGarbageRequest& request,
                                     v1::CollectGarbageResponse& response) {
  auto collecting = manager_.CollectGarbage(request.dry_run());
  CO_ASSIGN_OR_RETURN(const CollectedGarbage garbage, co_await std::move(collecting));
  for (const GarbageDecision& decision : garbage.decisions) {
    Fill(response.add_decisions(), decision);
  }
  response.set_dry_run(garbage.dry_run);
  co_return absl::OkStatus();
}

}  // namespace sandkeep
