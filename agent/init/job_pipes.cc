#include "agent/init/job_pipes.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>

namespace sandkeep::init {
namespace {

bool IsPipeEnd(const UniqueFd& end, int access) {
  struct stat about{};
  if (::fstat(end.get(), &about) != 0 || !S_ISFIFO(about.st_mode)) return false;
  const int flags = ::fcntl(end.get(), F_GETFL);
  return flags >= 0 && (flags & O_ACCMODE) == access;
}

bool IsFile(const UniqueFd& file) {
  struct stat about{};
  return ::fstat(file.get(), &about) == 0 && S_ISREG(about.st_mode);
}

// The last two.
bool TakeStandby(std::vector<UniqueFd>& descriptors, JobPipes& pipes) {
  if (descriptors.size() < 2) return false;
  for (UniqueFd* end : {&pipes.ready, &pipes.text}) {
    *end = std::move(descriptors.back());
    descriptors.pop_back();
  }
  return IsPipeEnd(pipes.ready, O_RDONLY) && IsFile(pipes.text);
}

// Commands don't expect EAGAIN.
void MakeBlocking(const UniqueFd& end) {
  if (!end) return;
  const int flags = ::fcntl(end.get(), F_GETFL);
  if (flags >= 0 && (flags & O_NONBLOCK) != 0) {
    ::fcntl(end.get(), F_SETFL, flags & ~O_NONBLOCK);
  }
}

void CloseIfDrained(UniqueFd& end) {
  if (!end) return;
  pollfd about{end.get(), POLLIN, 0};
  if (::poll(&about, 1, 0) == 1 && (about.revents & (POLLIN | POLLHUP)) == POLLHUP) end.Reset();
}

}  // namespace

absl::StatusOr<JobPipes> JobPipes::Take(const v1::Start& start, std::vector<UniqueFd> descriptors) {
  JobPipes pipes;
  if (start.standby() && !TakeStandby(descriptors, pipes)) {
    return absl::InvalidArgumentError("no file and pipe to take a command from");
  }
  std::vector<std::pair<UniqueFd*, int>> order = {{&pipes.stdout_write, O_WRONLY}};
  if (!start.merge_streams()) order.emplace_back(&pipes.stderr_write, O_WRONLY);
  order.emplace_back(&pipes.stdout_read, O_RDONLY);
  if (!start.merge_streams()) order.emplace_back(&pipes.stderr_read, O_RDONLY);
  if (start.stdin_pipe()) {
    order.emplace_back(&pipes.stdin_read, O_RDONLY);
    if (descriptors.size() > order.size()) order.emplace_back(&pipes.stdin_write, O_WRONLY);
  }
  if (descriptors.size() != order.size()) {
    return absl::InvalidArgumentError("a wrong number of descriptors");
  }
  for (std::size_t i = 0; i < order.size(); ++i) {
    auto [end, access] = order[i];
    const bool file = end == &pipes.stdin_read && IsFile(descriptors[i]);
    if (!file && !IsPipeEnd(descriptors[i], access)) {
      return absl::InvalidArgumentError("a descriptor that isn't this end of a pipe");
    }
    *end = std::move(descriptors[i]);
  }
  MakeBlocking(pipes.stdin_read);
  MakeBlocking(pipes.stdout_write);
  MakeBlocking(pipes.stderr_write);
  return pipes;
}

void JobPipes::CloseCommandEnds() {
  for (UniqueFd* end : {&stdin_read, &stdout_write, &stderr_write, &text, &ready}) end->Reset();
}

void JobPipes::CloseKept() {
  stdout_read.Reset();
  stderr_read.Reset();
  stdin_write.Reset();
}

void JobPipes::CloseDrained() {
  CloseIfDrained(stdout_read);
  CloseIfDrained(stderr_read);
}

}  // namespace sandkeep::init
