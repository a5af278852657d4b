#include "agent/init/job.h"

#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>

#include "common/limits.h"

namespace sandkeep::init {
namespace {

bool IsFolder(std::string_view path) {
  return path.size() < kMaxPathBytes && path.find('\0') == std::string_view::npos;
}

// As a command that asks for nothing: that is all a shell can be that doesn't know its command.
bool IsPlain(const v1::Start& start) {
  return start.merge_streams() && !start.stdin_pipe() && start.command_bytes() == 0 &&
         !start.has_command() && start.cwd().empty() && start.env().empty();
}

// Groups, terminals and framed data come with the hosts that need them.
bool IsServed(const v1::Start& start) {
  return !start.gate() && !start.terminal() && start.command_bytes() <= kMaxCommandBytes &&
         (!start.has_command() || start.command().size() == start.command_bytes()) &&
         IsFolder(start.cwd()) && (!start.standby() || IsPlain(start));
}

}  // namespace

std::optional<Job> Job::Collect(const v1::Start& start, std::vector<UniqueFd> descriptors,
                                std::string_view workspace, Refusal& refusal) {
  refusal = {v1::Refused::BAD_REQUEST, EINVAL};
  if (!IsServed(start)) return std::nullopt;
  absl::StatusOr<Environment> environment = Environment::Make(start);
  absl::StatusOr<JobPipes> pipes = JobPipes::Take(start, std::move(descriptors));
  if (!environment.ok() || !pipes.ok()) return std::nullopt;
  refusal = {v1::Refused::CANNOT_FORK, 0};
  std::optional<SealedText> text = SealedText::Create(start.command_bytes(), refusal.error);
  if (!text.has_value()) return std::nullopt;
  if (start.has_command() && !text->Append(start.command()).ok()) {
    refusal.error = ENOMEM;
    return std::nullopt;
  }
  Job job(*std::move(text), *std::move(pipes));
  job.setup_.workspace = std::string(workspace);
  job.setup_.folder = start.cwd();
  job.setup_.environment = *std::move(environment);
  job.command_bytes_ = start.command_bytes();
  job.standby_ = start.standby();
  return job;
}

std::optional<Refusal> Job::Append(std::string_view part) {
  if (text_->Append(part).ok()) return std::nullopt;
  return Refusal{v1::Refused::BAD_REQUEST, EMSGSIZE};
}

std::optional<Refusal> Job::Run(std::optional<Supervisor> spare) {
  if (text_->size() != command_bytes_ || !text_->Seal().ok()) {
    return Refusal{v1::Refused::BAD_REQUEST, EINVAL};
  }
  setup_.command = pipes_.text ? pipes_.text.get() : text_->fd();
  setup_.ready = pipes_.ready.get();
  setup_.stdin_read = pipes_.stdin_read.get();
  setup_.stdout_write = pipes_.stdout_write.get();
  setup_.stderr_write = pipes_.stderr_write.get();
  Become(Stage::kForked);
  if (spare.has_value() && spare->HandOver(setup_)) {
    supervisor_ = std::move(spare);
    return std::nullopt;
  }
  return Fork();
}

bool Job::Keep(JobSignal signal) {
  if (early_.size() >= kMaxEarlySignals) return false;
  early_.push_back(signal);
  return true;
}

ino_t Job::InputInode() const {
  struct stat pipe{};
  return ::fstat(pipes_.stdin_write.get(), &pipe) == 0 ? pipe.st_ino : 0;
}

bool Job::Expected() const {
  pollfd ready{pipes_.ready.get(), POLLIN, 0};
  if (::poll(&ready, 1, 0) < 0) return false;
  // Its command may be there, and the pipe closed behind it, before the frame that says so is read.
  const bool used = (ready.revents & POLLIN) != 0;
  return used || (ready.revents & (POLLHUP | POLLERR)) == 0;
}

std::optional<Refusal> Job::Fork() {
  int error = 0;
  supervisor_ = Supervisor::Fork(setup_, error);
  if (!supervisor_.has_value()) return Refusal{v1::Refused::CANNOT_FORK, error};
  return std::nullopt;
}

std::optional<Refusal> Job::TakeReports() {
  while (supervisor_.has_value()) {
    const std::optional<Report> report = supervisor_->NextReport();
    if (!report.has_value()) return std::nullopt;
    switch (report->kind) {
      case Report::Kind::kBadFolder:
        return Refusal{v1::Refused::BAD_CWD, report->value};
      case Report::Kind::kNoShell:
        return Refusal{v1::Refused::NO_SHELL, report->value};
      case Report::Kind::kCannotFork:
        return Refusal{v1::Refused::CANNOT_FORK, report->value};
      case Report::Kind::kStarted:
        command_ = report->value;
        Become(Stage::kStarted);
        break;
      case Report::Kind::kExited:
        wait_status_ = report->value;
        left_behind_ = report->left_behind;
        Become(report->gone != 0 ? Stage::kGone : Stage::kExited);
        break;
    }
  }
  return std::nullopt;
}

std::optional<Supervisor> Job::TakeIdleSupervisor() {
  if (stage_ != Stage::kGone) return std::nullopt;
  return std::exchange(supervisor_, std::nullopt);
}

std::optional<Refusal> Job::SupervisorEnded(int wait_status) {
  const bool untaken = supervisor_->untaken();
  supervisor_.reset();
  if (untaken && stage_ == Stage::kForked) return Fork();
  const bool clean = WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 0;
  if (stage_ < Stage::kExited) {
    supervisor_lost_ = true;
    wait_status_ = SIGKILL;
    Become(Stage::kExited);
  }
  if (clean && !supervisor_lost_) {
    Become(Stage::kGone);
  } else {
    orphaned_ = true;
  }
  return std::nullopt;
}

void Job::Forget() {
  forgotten_ = true;
  pipes_.CloseKept();
}

void Job::Become(Stage stage) {
  if (stage <= stage_) return;
  if (stage_ < Stage::kExited && stage >= Stage::kExited) {
    exited_ = std::chrono::steady_clock::now();
  }
  if (stage_ < Stage::kStarted && stage >= Stage::kStarted) LetGo();
  stage_ = stage;
  if (stage_ == Stage::kGone) {
    orphaned_ = false;
    pipes_.stdin_write.Reset();
  }
}

void Job::LetGo() {
  pipes_.CloseCommandEnds();
  text_.reset();
  setup_ = {};
}

v1::FromInit Job::News(const std::string& id) const {
  v1::FromInit frame;
  switch (told_) {
    case Stage::kCollecting:
    case Stage::kForked:
      frame.mutable_started()->set_job_id(id);
      frame.mutable_started()->set_pid(static_cast<std::uint32_t>(command_));
      break;
    case Stage::kStarted:
      frame.mutable_exited()->set_job_id(id);
      frame.mutable_exited()->set_wait_status(wait_status_);
      // They may have gone since they were counted.
      frame.mutable_exited()->set_left_behind(
          stage_ == Stage::kGone ? 0 : static_cast<std::uint32_t>(left_behind_));
      frame.mutable_exited()->set_supervisor_lost(supervisor_lost_);
      frame.mutable_exited()->set_gone(stage_ == Stage::kGone);
      break;
    case Stage::kExited:
    case Stage::kGone:
      frame.mutable_gone()->set_job_id(id);
      break;
  }
  return frame;
}

void Job::NewsSent() {
  const bool all = told_ == Stage::kStarted;
  told_ = all ? stage_ : static_cast<Stage>(static_cast<int>(told_) + 1);
}

v1::JobState Job::State(const std::string& id) const {
  v1::JobState state;
  state.set_job_id(id);
  state.set_pid(static_cast<std::uint32_t>(command_));
  state.set_exited(stage_ >= Stage::kExited);
  state.set_wait_status(wait_status_);
  state.set_gone(stage_ == Stage::kGone);
  state.set_stdout_fd(pipes_.stdout_read.get());
  state.set_stderr_fd(pipes_.stderr_read.get());
  state.set_stdin_fd(pipes_.stdin_write.get());
  if (stage_ >= Stage::kExited) {
    const auto ago = std::chrono::steady_clock::now() - exited_;
    state.set_exited_ms_ago(std::chrono::duration_cast<std::chrono::milliseconds>(ago).count());
  }
  return state;
}

}  // namespace sandkeep::init
