#include "agent/init/job_table.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "agent/init/input_watch.h"
#include "agent/init/process_tree.h"
#include "agent/init/sweep.h"
#include "common/ids.h"
#include "common/limits.h"

namespace sandkeep::init {
namespace {

constexpr pid_t kPidOne = 1;

bool IsSignal(int signal) { return signal > 0 && signal < NSIG; }

}  // namespace

void JobTable::Handle(Request request) {
  v1::ToInit& frame = request.frame;
  if (!request.descriptors.empty() && !frame.has_start()) {
    channel_.CountDropped();
    return;
  }
  switch (frame.frame_case()) {
    case v1::ToInit::kHello:
      return Hello(frame.hello());
    case v1::ToInit::kStart:
      return Start(frame.start(), std::move(request.descriptors));
    case v1::ToInit::kCommand:
      return Append(frame.command());
    case v1::ToInit::kRun:
      return Run(frame.run().job_id());
    case v1::ToInit::kUse:
      return Use(frame.use());
    case v1::ToInit::kSignal:
      return Signal(frame.signal());
    case v1::ToInit::kInput:
      return Input(frame.input());
    case v1::ToInit::kForget:
      return Forget(frame.forget().job_id());
    case v1::ToInit::kFreeze:
      return Freeze(true);
    case v1::ToInit::kThaw:
      return Freeze(false);
    case v1::ToInit::kPing: {
      v1::FromInit pong;
      pong.mutable_pong()->set_nonce(frame.ping().nonce());
      return channel_.Queue(pong);
    }
    case v1::ToInit::kResize:
    case v1::ToInit::kListPackages:
    case v1::ToInit::FRAME_NOT_SET:
      return channel_.CountDropped();
  }
}

void JobTable::Hello(const v1::Hello& hello) {
  if (hello.epoch().size() != JobId::kBytes || hello.framed_data()) return channel_.CountDropped();
  // What an earlier agent was to be told is in the reply.
  channel_.ForgetQueued();
  std::erase_if(jobs_,
                [](const auto& entry) { return entry.second.stage() == Job::Stage::kCollecting; });
  std::vector<v1::JobState> states;
  for (auto& [id, job] : jobs_) {
    // It ends by itself, since who could use it is gone.
    if (job.standby()) job.Forget();
    if (job.forgotten()) continue;
    if (job.stage() == Job::Stage::kGone) job.CloseDrained();
    job.AllTold();
    states.push_back(job.State(id));
  }
  std::size_t said = 0;
  do {
    v1::FromInit frame;
    v1::HelloReply& reply = *frame.mutable_hello();
    reply.set_version(v1::V1);
    reply.set_epoch(hello.epoch());
    reply.set_dropped_frames(channel_.dropped());
    reply.set_build(SANDKEEP_VERSION);
    const std::size_t end = std::min(states.size(), said + kMaxHelloJobs);
    for (; said < end; ++said) *reply.add_jobs() = std::move(states[said]);
    reply.set_more(said < states.size());
    channel_.Queue(frame);
  } while (said < states.size());
}

void JobTable::Start(const v1::Start& start, std::vector<UniqueFd> descriptors) {
  const std::string& id = start.job_id();
  if (id.size() != JobId::kBytes) return channel_.CountDropped();
  if (jobs_.contains(id)) return Refuse(id, {v1::Refused::DUPLICATE_JOB, 0});
  if (jobs_.size() >= kMaxInitJobs) return Refuse(id, {v1::Refused::TOO_MANY_JOBS, 0});
  Refusal refusal;
  std::optional<Job> job = Job::Collect(start, std::move(descriptors), workspace_, refusal);
  if (!job.has_value()) return Refuse(id, refusal);
  jobs_.emplace(id, *std::move(job));
  if (start.has_command()) Run(id);
}

void JobTable::Append(const v1::Command& command) {
  Job* job = Find(command.job_id());
  if (job == nullptr) return;
  if (job->stage() != Job::Stage::kCollecting) return channel_.CountDropped();
  const std::optional<Refusal> refusal = job->Append(command.data());
  if (refusal.has_value()) RefuseAndErase(command.job_id(), *refusal);
}

void JobTable::Run(const std::string& id) {
  Job* job = Find(id);
  if (job == nullptr) return;
  if (job->stage() != Job::Stage::kCollecting) return channel_.CountDropped();
  const std::optional<Refusal> refusal = job->Run(spare_.Take());
  if (refusal.has_value()) RefuseAndErase(id, *refusal);
}

void JobTable::Use(const v1::Use& use) {
  const auto standby = jobs_.find(use.standby_id());
  const bool usable = standby != jobs_.end() && standby->second.standby() &&
                      use.job_id().size() == JobId::kBytes && !jobs_.contains(use.job_id());
  if (!usable) return channel_.CountDropped();
  auto entry = jobs_.extract(standby);
  entry.key() = use.job_id();
  entry.mapped().Use();
  const bool waits = entry.mapped().stage() == Job::Stage::kCollecting;
  jobs_.insert(std::move(entry));
  if (waits) Run(use.job_id());
}

bool JobTable::Quiet() const {
  return std::all_of(jobs_.begin(), jobs_.end(), [](const auto& entry) {
    const Job& job = entry.second;
    return job.stage() == Job::Stage::kGone ||
           (job.standby() && job.stage() == Job::Stage::kCollecting);
  });
}

void JobTable::StartStandbys() {
  if (!Quiet()) return;
  for (;;) {
    const auto entry = std::find_if(jobs_.begin(), jobs_.end(), [](const auto& candidate) {
      return candidate.second.standby() && candidate.second.stage() == Job::Stage::kCollecting;
    });
    if (entry == jobs_.end()) return;
    if (entry->second.Expected()) return Run(entry->first);
    // Dropped while it waited. Behind it may stand the one that the agent asked for instead.
    RefuseAndErase(entry->first, {v1::Refused::BAD_REQUEST, ECANCELED});
  }
}

void JobTable::Signal(const v1::Signal& signal) {
  Job* job = Find(signal.job_id());
  if (job == nullptr) return;
  if (!IsSignal(signal.signal()) || job->stage() == Job::Stage::kCollecting) {
    return channel_.CountDropped();
  }
  if (signal.tree() && signal.signal() == SIGKILL) {
    job->Doom();
    SweepNow();
  } else if (job->stage() == Job::Stage::kForked) {
    // There is nobody yet whom it could reach.
    if (!job->Keep({signal.signal(), signal.tree()})) channel_.CountDropped();
  } else {
    Deliver(*job, {signal.signal(), signal.tree()});
  }
}

void JobTable::Deliver(const Job& job, JobSignal signal) {
  if (signal.tree && job.supervisor() != 0) {
    SignalBelow(job.supervisor(), signal.number);
  } else if (job.stage() == Job::Stage::kStarted && ParentOf(job.command()) == job.supervisor()) {
    // Asked for its parent first: it may be reaped already, and its number another's.
    ::kill(job.command(), signal.number);
  }
}

std::optional<Refusal> JobTable::TakeReportsOf(Job& job) {
  std::optional<Refusal> refusal = job.TakeReports();
  if (refusal.has_value() || job.stage() == Job::Stage::kForked) return refusal;
  if (std::optional<Supervisor> idle = job.TakeIdleSupervisor()) spare_.GiveBack(*std::move(idle));
  for (const JobSignal& early : job.TakeEarlySignals()) Deliver(job, early);
  return std::nullopt;
}

void JobTable::Input(const v1::Input& input) {
  Job* job = Find(input.job_id());
  if (job == nullptr) return;
  // Bytes come by the pipe; only its end has to be said, since init holds the pipe open.
  if (!input.data().empty()) channel_.CountDropped();
  if (input.end()) job->EndInput();
}

void JobTable::Forget(const std::string& id) {
  const auto entry = jobs_.find(id);
  if (entry == jobs_.end()) return;
  entry->second.Forget();
  EraseForgotten();
}

void JobTable::Freeze(bool freeze) {
  v1::FromInit frame;
  // Every process but PID 1, at one stroke that no fork slips through. From another process the
  // same call would reach the whole machine.
  const bool can = ::getpid() == kPidOne;
  if (can) ::kill(-1, freeze ? SIGSTOP : SIGCONT);
  ContinueSupervisors();
  frame.mutable_frozen()->set_frozen(can && freeze);
  channel_.Queue(frame);
}

void JobTable::Reap() {
  for (;;) {
    int status = 0;
    const pid_t pid = ::waitpid(-1, &status, WNOHANG | WUNTRACED | __WALL);
    if (pid <= 0) break;
    if (WIFSTOPPED(status)) {
      ContinueSupervisors();
    } else {
      // It may have said before it ended that it waits.
      SupervisorEnded(pid, status);
      spare_.ChildEnded(pid);
    }
  }
  EraseForgotten();
}

void JobTable::ContinueSupervisors() {
  for (const pid_t pid : Supervisors()) ::kill(pid, SIGCONT);
}

void JobTable::SupervisorEnded(pid_t pid, int wait_status) {
  const auto entry = std::find_if(jobs_.begin(), jobs_.end(), [pid](const auto& candidate) {
    return candidate.second.supervisor() == pid;
  });
  if (entry == jobs_.end()) return;
  // Its last words are in its socket before it can be reaped. They may be that it is all over.
  const std::optional<Refusal> refusal = TakeReportsOf(entry->second);
  if (refusal.has_value()) return RefuseAndErase(entry->first, *refusal);
  if (entry->second.stage() == Job::Stage::kGone) return;
  const std::optional<Refusal> over = entry->second.SupervisorEnded(wait_status);
  if (over.has_value()) return RefuseAndErase(entry->first, *over);
  if (entry->second.orphaned()) SweepNow();
}

std::optional<std::chrono::milliseconds> JobTable::UntilSpare() const {
  if (!spare_.wanted()) return std::nullopt;
  const bool busy = std::any_of(jobs_.begin(), jobs_.end(), [](const auto& entry) {
    const Job& job = entry.second;
    // Until a shell has its pipes, a fork would hold them too, and it would seem to wait when
    // killed.
    const bool waits = job.standby() && job.stage() != Job::Stage::kForked;
    return job.supervisor() != 0 && job.stage() < Job::Stage::kExited && !waits;
  });
  return busy ? kSpareDelay : std::chrono::milliseconds(0);
}

void JobTable::AddReportFds(std::vector<pollfd>& waits) const {
  for (const auto& [id, job] : jobs_) {
    if (job.report_fd() >= 0) waits.push_back({job.report_fd(), POLLIN, 0});
  }
}

void JobTable::TakeReports(absl::Span<const pollfd> waits) {
  for (const pollfd& wait : waits) {
    if (wait.revents == 0) continue;
    // A job may be gone that was there when poll began, its number another's: that one says nothing
    // yet, and nothing is lost.
    const auto entry = std::find_if(jobs_.begin(), jobs_.end(), [&](const auto& candidate) {
      return candidate.second.report_fd() == wait.fd;
    });
    if (entry == jobs_.end()) continue;
    const std::optional<Refusal> refusal = TakeReportsOf(entry->second);
    if (refusal.has_value()) RefuseAndErase(entry->first, *refusal);
  }
  EraseForgotten();
}

void JobTable::SweepNow() {
  sweeping_ = true;
  sweep_interval_ = kFirstSweepInterval;
  next_sweep_ = {};
}

void JobTable::SweepIfDue() {
  if (!sweeping_ || std::chrono::steady_clock::now() < next_sweep_) return;
  SweepTargets targets;
  targets.living_supervisors = Supervisors();
  sweeping_ = false;
  for (const auto& [id, job] : jobs_) {
    if (job.orphaned()) targets.orphans = true;
    if (job.doomed() && job.supervisor() != 0) targets.supervisors.push_back(job.supervisor());
    sweeping_ = sweeping_ || job.orphaned() || job.doomed();
  }
  if (!sweeping_) return;
  const SweepResult result = Sweep(targets);
  if (targets.orphans && !result.orphans) {
    for (auto& [id, job] : jobs_) {
      if (job.orphaned()) job.TreeSwept();
    }
    EraseForgotten();
  }
  // What can't die now (it waits for a disk, say) is asked more and more rarely.
  sweep_interval_ = std::min(sweep_interval_ * 2, kLastSweepInterval);
  next_sweep_ = std::chrono::steady_clock::now() + sweep_interval_;
}

std::optional<std::chrono::milliseconds> JobTable::UntilSweep() const {
  if (!sweeping_) return std::nullopt;
  const auto left = next_sweep_ - std::chrono::steady_clock::now();
  return std::max(std::chrono::ceil<std::chrono::milliseconds>(left), std::chrono::milliseconds(0));
}

std::optional<std::chrono::milliseconds> JobTable::UntilInputs() const {
  const bool any = std::any_of(jobs_.begin(), jobs_.end(),
                               [](const auto& entry) { return entry.second.takes_input(); });
  if (!any) return std::nullopt;
  const auto left = next_look_at_inputs_ - std::chrono::steady_clock::now();
  return std::max(std::chrono::ceil<std::chrono::milliseconds>(left), std::chrono::milliseconds(0));
}

void JobTable::LookAtInputsIfDue() {
  const auto until = UntilInputs();
  if (!until.has_value() || until->count() > 0) return;
  next_look_at_inputs_ = std::chrono::steady_clock::now() + kInputLookInterval;
  const ProcessTree tree = ProcessTree::Snapshot();
  int told = 0;
  auto entry = jobs_.upper_bound(looked_up_to_);
  for (std::size_t left = jobs_.size(); left > 0 && told < kMaxWaitsTold; --left, ++entry) {
    if (entry == jobs_.end()) entry = jobs_.begin();
    const auto& [id, job] = *entry;
    looked_up_to_ = id;
    if (!job.takes_input() || !WaitsForInput(tree, job.supervisor(), job.InputInode())) continue;
    v1::FromInit frame;
    frame.mutable_waiting()->set_job_id(id);
    channel_.Queue(frame);
    ++told;
  }
}

bool JobTable::TellNews() {
  if (!channel_.Flush()) return false;
  for (auto& [id, job] : jobs_) {
    while (job.has_news()) {
      if (!channel_.Send(job.News(id))) return false;
      job.NewsSent();
    }
  }
  return true;
}

Job* JobTable::Find(const std::string& id) {
  if (id.size() != JobId::kBytes) {
    channel_.CountDropped();
    return nullptr;
  }
  const auto entry = jobs_.find(id);
  if (entry != jobs_.end()) return &entry->second;
  Refuse(id, {v1::Refused::UNKNOWN_JOB, 0});
  return nullptr;
}

void JobTable::Refuse(const std::string& id, Refusal refusal) {
  v1::FromInit frame;
  v1::Refused& refused = *frame.mutable_refused();
  refused.set_job_id(id);
  refused.set_reason(refusal.reason);
  refused.set_error(refusal.error);
  channel_.Queue(frame);
}

void JobTable::RefuseAndErase(const std::string& id, Refusal refusal) {
  Refuse(id, refusal);
  // By its place: the name may be the entry's own.
  jobs_.erase(jobs_.find(id));
}

void JobTable::EraseForgotten() {
  std::erase_if(jobs_, [](const auto& entry) {
    const Job& job = entry.second;
    return job.forgotten() &&
           (job.stage() == Job::Stage::kGone || job.stage() == Job::Stage::kCollecting);
  });
}

std::vector<pid_t> JobTable::Supervisors() const {
  std::vector<pid_t> pids;
  for (const Supervisor& waiting : spare_.waiting()) pids.push_back(waiting.pid());
  for (const auto& [id, job] : jobs_) {
    if (job.supervisor() != 0) pids.push_back(job.supervisor());
  }
  return pids;
}

void JobTable::TrimSpares() {
  if (spare_.waiting().size() <= 1) return;
  const auto busy =
      static_cast<std::size_t>(std::count_if(jobs_.begin(), jobs_.end(), [](const auto& entry) {
        return entry.second.supervisor() != 0;
      }));
  spare_.Keep(std::max<std::size_t>(busy / 2, 1));
}

}  // namespace sandkeep::init
