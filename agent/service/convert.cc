#include "agent/service/convert.h"

#include <utility>

#include "common/limits.h"

namespace sandkeep {
namespace {

namespace v1 = agent::v1;

std::int64_t Millis(absl::Time time) {
  const bool known = time != absl::InfinitePast() && time != absl::InfiniteFuture();
  return known ? absl::ToUnixMillis(time) : 0;
}

// No limit is 0 in the contract.
std::int64_t Millis(absl::Duration duration) {
  return duration == absl::InfiniteDuration() ? 0 : absl::ToInt64Milliseconds(duration);
}

v1::Sandbox::State StateOf(SandboxState state) {
  switch (state) {
    case SandboxState::kAbsent:
      return v1::Sandbox::ABSENT;
    case SandboxState::kStarting:
      return v1::Sandbox::STARTING;
    case SandboxState::kRunning:
      return v1::Sandbox::RUNNING;
    case SandboxState::kFrozen:
      return v1::Sandbox::FROZEN;
    case SandboxState::kStopped:
      return v1::Sandbox::STOPPED;
    case SandboxState::kBroken:
      return v1::Sandbox::BROKEN;
  }
  return v1::Sandbox::STATE_UNSPECIFIED;
}

v1::Job::State StateOf(JobState state) {
  switch (state) {
    case JobState::kStarting:
      return v1::Job::STARTING;
    case JobState::kRunning:
      return v1::Job::RUNNING;
    case JobState::kEnded:
      return v1::Job::ENDED;
  }
  return v1::Job::STATE_UNSPECIFIED;
}

v1::JobStarted::Arrival ArrivalOf(Arrival arrival) {
  switch (arrival) {
    case Arrival::kRunning:
      return v1::JobStarted::ARRIVAL_UNSPECIFIED;
    case Arrival::kNew:
      return v1::JobStarted::NEW;
    case Arrival::kWoken:
      return v1::JobStarted::WOKEN;
    case Arrival::kRestarted:
      return v1::JobStarted::RESTARTED;
    case Arrival::kRebuilt:
      return v1::JobStarted::REBUILT;
  }
  return v1::JobStarted::ARRIVAL_UNSPECIFIED;
}

v1::Stream StreamOf(OutputStream stream) {
  switch (stream) {
    case OutputStream::kMerged:
      return v1::STREAM_UNSPECIFIED;
    case OutputStream::kStdout:
      return v1::STDOUT;
    case OutputStream::kStderr:
      return v1::STDERR;
  }
  return v1::STREAM_UNSPECIFIED;
}

v1::Outcome::Ending EndingOf(const Outcome& outcome) {
  switch (outcome.ending) {
    case Ending::kExited:
      return v1::Outcome::EXITED;
    case Ending::kSignalled:
      return v1::Outcome::SIGNALLED;
    case Ending::kTimedOut:
      // Why the time ran out says more than that it did.
      return outcome.waiting_for_input ? v1::Outcome::WAITING_FOR_INPUT : v1::Outcome::TIMED_OUT;
    case Ending::kCancelled:
      return v1::Outcome::CANCELLED;
    case Ending::kOutOfMemory:
      return v1::Outcome::OUT_OF_MEMORY;
    case Ending::kPidLimit:
      return v1::Outcome::PID_LIMIT;
    case Ending::kDiskFull:
      return v1::Outcome::DISK_FULL;
    case Ending::kSandboxGone:
      return v1::Outcome::SANDBOX_GONE;
    case Ending::kHostRestarted:
      return v1::Outcome::HOST_RESTARTED;
    case Ending::kAgentFault:
      return v1::Outcome::AGENT_FAULT;
  }
  return v1::Outcome::ENDING_UNSPECIFIED;
}

v1::FileInfo::Type TypeOf(const FileEntry& entry) {
  if (entry.regular()) return v1::FileInfo::REGULAR;
  return entry.directory() ? v1::FileInfo::DIRECTORY : v1::FileInfo::OTHER;
}

v1::CollectGarbageResponse::Decision::Kind KindOf(GarbageDecision::Kind kind) {
  switch (kind) {
    case GarbageDecision::Kind::kVolume:
      return v1::CollectGarbageResponse::Decision::VOLUME;
    case GarbageDecision::Kind::kContainer:
      return v1::CollectGarbageResponse::Decision::CONTAINER;
    case GarbageDecision::Kind::kSpool:
      return v1::CollectGarbageResponse::Decision::SPOOL;
    case GarbageDecision::Kind::kImage:
      return v1::CollectGarbageResponse::Decision::IMAGE;
  }
  return v1::CollectGarbageResponse::Decision::KIND_UNSPECIFIED;
}

}  // namespace

void Fill(v1::Sandbox* message, const SandboxSnapshot& sandbox) {
  message->set_key(sandbox.key.text());
  message->set_label(sandbox.label.text());
  message->set_principal(sandbox.principal.text());
  message->set_state(StateOf(sandbox.state));
  message->set_created_ms(Millis(sandbox.created));
  message->set_last_used_ms(Millis(sandbox.last_used));
  message->set_running_jobs(sandbox.running_jobs);
  message->set_workspace_bytes(sandbox.workspace_bytes);
  message->set_layer_bytes(sandbox.layer_bytes);
  message->set_generation(sandbox.generation.bytes());
  message->set_hostname(sandbox.hostname);
  message->set_state_since_ms(Millis(sandbox.state_since));
  message->set_busy(sandbox.busy);
}

void Fill(v1::Job* message, const JobSnapshot& job) {
  message->set_job_id(job.id.bytes());
  message->set_state(StateOf(job.state));
  message->set_command_head(job.command_head);
  message->set_started_ms(Millis(job.started));
  message->set_ended_ms(Millis(job.ended));
  message->set_output_bytes(job.output_bytes);
  if (job.outcome.has_value()) Fill(message->mutable_outcome(), *job.outcome);
  message->set_stdin_open(job.stdin_open);
  message->set_left_behind(job.left_behind);
  if (job.deadline != absl::InfiniteFuture()) message->set_deadline_ms(Millis(job.deadline));
  message->set_waiting_for_input(job.waiting_for_input);
  message->set_paused(job.paused);
}

void Fill(v1::Outcome* message, const Outcome& outcome) {
  message->set_ending(EndingOf(outcome));
  message->set_code(outcome.code);
  message->set_left_behind(outcome.left_behind);
  message->set_wall_ms(outcome.wall.count());
  message->set_output_bytes(outcome.output_bytes);
  message->set_dropped_bytes(outcome.dropped_bytes);
  message->set_remedy(outcome.remedy);
}

void Fill(v1::JobStarted* message, const StartedJob& started) {
  Fill(message->mutable_sandbox(), started.sandbox);
  message->set_arrival(ArrivalOf(started.arrival));
  message->set_last_used_ms(Millis(started.last_used_before));
  Fill(message->mutable_job(), started.job);
  if (started.timeout_lowered_to.has_value()) {
    message->set_timeout_lowered_to_ms(absl::ToInt64Milliseconds(*started.timeout_lowered_to));
  }
  message->mutable_notes()->Add(started.notes.begin(), started.notes.end());
}

void Fill(v1::JobGap* message, const JobGap& gap) {
  message->set_from(gap.from);
  message->set_to(gap.to);
  message->set_stream(StreamOf(gap.stream));
}

void Fill(v1::JobEvent* message, JobEvent event) {
  switch (event.kind) {
    case JobEvent::Kind::kOutput: {
      v1::JobOutput* const output = message->mutable_output();
      output->set_offset(event.output.offset);
      output->set_stream(StreamOf(event.output.stream));
      output->set_data(std::move(event.output.data));
      return;
    }
    case JobEvent::Kind::kGap:
      return Fill(message->mutable_gap(), event.gap);
    case JobEvent::Kind::kWaitingForInput:
      message->mutable_waiting_for_input();
      return;
    case JobEvent::Kind::kPaused:
      message->mutable_paused()->set_reason(event.paused);
      return;
    case JobEvent::Kind::kNote:
      message->mutable_note()->set_text(event.note);
      return;
    case JobEvent::Kind::kOutcome:
      return Fill(message->mutable_outcome(), event.outcome);
    case JobEvent::Kind::kEndOfWhatThereIs:
      return;
  }
}

void Fill(v1::FileInfo* message, const FileEntry& entry) {
  message->set_path(entry.path);
  message->set_type(TypeOf(entry));
  message->set_size(entry.size);
  message->set_modified_ms(Millis(entry.modified));
  message->set_etag(entry.Etag());
  message->set_mode(entry.mode & 07777);
}

void Fill(v1::FileInfo* message, const SandboxFile& file) {
  Fill(message, file.entry);
  message->set_generation(file.generation.bytes());
  message->set_key(file.key.text());
}

void Fill(v1::CollectGarbageResponse::Decision* message, const GarbageDecision& decision) {
  message->set_kind(KindOf(decision.kind));
  message->set_name(decision.name);
  message->set_remove(decision.remove);
  message->set_reason(decision.reason);
  message->set_bytes(decision.bytes);
}

void Fill(v1::Info* message, const HostFacts& facts, const ManagerInfo& info) {
  message->set_version(facts.version);
  message->set_profile(facts.profile);
  message->set_network(facts.network);
  message->set_engine(info.engine.engine);
  message->set_instance(facts.instance.bytes());
  message->set_started_ms(Millis(facts.started));

  v1::Limits* const limits = message->mutable_limits();
  limits->set_max_timeout_ms(Millis(facts.max_timeout));
  limits->set_background_ms(Millis(facts.background));
  limits->set_idle_ms(Millis(facts.idle));
  limits->set_stop_after_ms(Millis(facts.stop_after));
  limits->set_keep_ms(Millis(facts.keep));
  limits->set_memory_bytes(facts.memory_bytes);
  limits->set_cpus_milli(facts.cpus_milli);
  limits->set_pids(facts.pids);
  limits->set_shm_bytes(facts.shm_bytes);
  limits->set_job_spool_bytes(facts.job_spool_bytes);
  limits->set_job_keep_ms(Millis(facts.job_keep));
  limits->set_volume_ttl_ms(Millis(facts.volume_ttl));
  limits->set_file_ttl_ms(Millis(facts.file_ttl));
  limits->set_principal_disk_bytes(facts.principal_disk_bytes);
  limits->set_sandbox_disk_bytes(facts.sandbox_disk_bytes);
  limits->set_sandboxes_each(kMaxSandboxesEach);

  v1::Capacity* const capacity = message->mutable_capacity();
  capacity->set_sandboxes_running(info.running);
  capacity->set_sandboxes_max(facts.max_running);
  capacity->set_sandboxes_known(info.known);
  capacity->set_disk_free_bytes(info.disk_free_bytes);
  capacity->set_disk_total_bytes(info.disk_total_bytes);
  capacity->set_disk_floor_bytes(facts.disk_floor_bytes);
  capacity->set_memory_available_bytes(info.memory_available_bytes);
  capacity->set_sandboxes_frozen(info.frozen);
  capacity->set_sandboxes_stopped(info.stopped);
  capacity->set_sandboxes_warm(info.warm);
  capacity->set_memory_reserve_bytes(facts.memory_reserve_bytes);

  for (const std::string& problem : info.engine.problems) message->add_problems(problem);
  for (const std::string& warning : info.warnings) message->add_warnings(warning);

  // An engine that hasn't answered says nothing of what this host can't do.
  if (info.engine.engine.empty()) return;
  v1::Capability* const cgroup = message->add_capabilities();
  cgroup->set_name("cgroup_v2");
  cgroup->set_available(info.engine.cgroup_v2);
  cgroup->set_detail(info.engine.cgroup_v2
                         ? "limits land, freezing is the kernel's"
                         : "limits of memory, processors and processes don't land: the host has no "
                           "cgroup v2, or the agent's unit no Delegate=");
  v1::Capability* const network = message->add_capabilities();
  network->set_name("network");
  network->set_available(info.engine.network != "none");
  network->set_detail(info.engine.network);
  if (!info.engine.disk_quota) return;
  v1::Capability* const quota = message->add_capabilities();
  quota->set_name("disk_quota");
  quota->set_available(info.engine.disk_quota->ok());
  quota->set_detail(info.engine.disk_quota->ok()
                        ? "the file system holds each new sandbox to SANDBOX_DISK"
                        : StrCat("SANDBOX_DISK is only looked at every few seconds: ",
                                 ToStd(info.engine.disk_quota->message())));
}

}  // namespace sandkeep
