#include "agent/init/loop.h"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <new>

#include "common/limits.h"
#include "common/status_codes.h"

namespace sandkeep::init {

absl::StatusOr<Loop> Loop::Make(Channel& channel, JobTable& jobs) {
  sigset_t child;
  ::sigemptyset(&child);
  ::sigaddset(&child, SIGCHLD);
  UniqueFd children(::signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!children) return ErrnoStatus(errno, "signalfd");
  return Loop(channel, jobs, std::move(children));
}

void Loop::Run() {
  for (;;) {
    try {
      Turn();
    } catch (const std::bad_alloc&) {
      // One request is lost, and the sandbox with everything in it is not.
      channel_->CountDropped();
    }
  }
}

void Loop::Turn() {
  const int channel_events =
      (agent_can_speak_ ? POLLIN | POLLRDHUP : 0) | (told_ || starved_ ? 0 : POLLOUT);
  std::vector<pollfd> waits = {{channel_->fd(), static_cast<short>(channel_events), 0},
                               {children_.get(), POLLIN, 0}};
  constexpr std::size_t kFirstReport = 2;
  jobs_->AddReportFds(waits);
  const int found = ::poll(waits.data(), waits.size(), Timeout());
  if (found < 0) return;
  if (found == 0 && jobs_->UntilSpare().has_value()) jobs_->MakeSpare();

  // An agent that shut the pair down has silenced it for good; an end of file would never stop.
  if ((waits[0].revents & (POLLRDHUP | POLLHUP)) != 0) agent_can_speak_ = false;
  if ((waits[0].revents & POLLIN) != 0) TakeRequests();
  jobs_->TakeReports(absl::MakeConstSpan(waits).subspan(kFirstReport));
  if ((waits[1].revents & POLLIN) != 0) TakeChildren();
  jobs_->SweepIfDue();
  jobs_->LookAtInputsIfDue();
  TellPorts();
  jobs_->StartStandbys();
  jobs_->TrimSpares();
  told_ = jobs_->TellNews();
  starved_ = !told_ && (waits[0].revents & POLLOUT) != 0;
}

int Loop::Timeout() const {
  constexpr std::chrono::milliseconds kForever{INT_MAX};
  const auto least =
      std::min({jobs_->UntilSweep().value_or(kForever), jobs_->UntilSpare().value_or(kForever),
                jobs_->UntilInputs().value_or(kForever), ports_.UntilLook().value_or(kForever),
                starved_ ? kStarvedPause : kForever});
  return least == kForever ? -1 : static_cast<int>(least.count());
}

// A bounded number, so that a busy agent doesn't keep dead children waiting.
void Loop::TakeRequests() {
  ports_.Wake();
  for (int i = 0; i < kMaxInitRequestsATurn; ++i) {
    std::optional<Request> request = channel_->Receive();
    if (!request.has_value()) return;
    jobs_->Handle(*std::move(request));
  }
}

void Loop::TakeChildren() {
  // One entry stands for any number of children.
  signalfd_siginfo info;
  while (::read(children_.get(), &info, sizeof info) > 0) {
  }
  jobs_->Reap();
  ports_.Wake();
}

void Loop::TellPorts() {
  for (const std::uint16_t port : ports_.LookIfDue(jobs_->any())) {
    v1::FromInit frame;
    frame.mutable_port_opened()->set_port(port);
    channel_->Queue(frame);
  }
}

}  // namespace sandkeep::init
