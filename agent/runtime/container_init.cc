#include "agent/runtime/container_init.h"

#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>

#include "agent/init/channel_fds.h"
#include "agent/runtime/podman_command.h"
#include "agent/runtime/small_file.h"
#include "common/frame_socket.h"
#include "common/limits.h"
#include "common/status_codes.h"
#include "common/status_macros.h"
#include "common/strings.h"

namespace sandkeep {
namespace {

using Steady = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kFirstPause{1};
constexpr std::chrono::milliseconds kLongestPause{20};

// Before its exec it is the engine's runtime, whose descriptors are none of ours.
absl::Status CheckIsOurInit(pid_t pid) {
  const std::string proc = StrCat("/proc/", pid);
  ASSIGN_OR_RETURN(const std::string status,
                   ReadSmallFile(StrCat(proc, "/status"), kMaxProcTextBytes));
  if (!IsNamespaceInit(status)) {
    return absl::UnavailableError(StrCat("process ", pid, " is no container's PID 1"));
  }
  ASSIGN_OR_RETURN(const std::string line,
                   ReadSmallFile(StrCat(proc, "/cmdline"), kMaxProcTextBytes));
  if (Split(line, '\0').front() != kInitInside) {
    return absl::UnavailableError(StrCat("process ", pid, " doesn't run sandkeep-init"));
  }
  return absl::OkStatus();
}

absl::StatusOr<UniqueFd> TakeChannel(const UniqueFd& pidfd) {
  UniqueFd taken(static_cast<int>(::syscall(SYS_pidfd_getfd, pidfd.get(), kAgentChannelFd, 0)));
  if (!taken) return ErrnoStatus(errno, "pidfd_getfd");
  ASSIGN_OR_RETURN(FrameSocket socket, FrameSocket::Adopt(std::move(taken)));
  return socket.Release();
}

absl::StatusOr<UniqueFd> TryTake(pid_t pid, const UniqueFd& pidfd) {
  RETURN_IF_ERROR(CheckIsOurInit(pid));
  ASSIGN_OR_RETURN(UniqueFd channel, TakeChannel(pidfd));
  // Alive now: so the number was this process's all the time.
  if (!IsAlive(pidfd)) return absl::UnavailableError("the sandbox's init died");
  return channel;
}

absl::Status Final(const absl::Status& last) {
  if (absl::IsPermissionDenied(last)) {
    return absl::FailedPreconditionError(
        "the kernel doesn't let the agent reach its sandboxes: set sysctl "
        "kernel.yama.ptrace_scope to 2 or less");
  }
  return absl::UnavailableError(last.message());
}

}  // namespace

bool IsNamespaceInit(std::string_view proc_status) {
  for (const std::string_view line : Split(proc_status, '\n')) {
    const auto fields = Split(line, '\t');
    // The pid in each namespace, ours first.
    if (fields.front() == "NSpid:") return fields.size() >= 3 && fields.back() == "1";
  }
  return false;
}

bool IsAlive(const UniqueFd& pidfd) {
  pollfd ended{pidfd.get(), POLLIN, 0};
  return ::poll(&ended, 1, 0) == 0;
}

void KillProcess(const UniqueFd& pidfd) {
  ::syscall(SYS_pidfd_send_signal, pidfd.get(), SIGKILL, nullptr, 0);
}

Async<ContainerInit> TakeInit(pid_t pid) {
  ContainerInit init;
  init.pid = pid;
  init.pidfd.Reset(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!init.pidfd) co_return absl::NotFoundError(StrCat("there is no process ", pid));
  boost::asio::steady_timer timer(co_await boost::asio::this_coro::executor);
  const Steady::time_point end = Steady::now() + kInitHelloDeadline;
  for (auto pause = kFirstPause;; pause = std::min(2 * pause, kLongestPause)) {
    auto channel = TryTake(pid, init.pidfd);
    if (channel.ok()) {
      init.channel = std::move(*channel);
      co_return init;
    }
    if (!IsAlive(init.pidfd)) co_return absl::UnavailableError("the sandbox's init died");
    if (Steady::now() > end) co_return Final(channel.status());
    timer.expires_after(pause);
    co_await timer.async_wait(boost::asio::as_tuple(boost::asio::use_awaitable));
  }
}

}  // namespace sandkeep
