#include "agent/runtime/process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/cancellation_state.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>
#include <memory>

#include "agent/runtime/spawn.h"
#include "common/await_on.h"
#include "common/limits.h"
#include "common/status_codes.h"
#include "common/status_macros.h"
#include "common/strings.h"

#ifndef P_PIDFD
#define P_PIDFD 3
#endif

namespace sandkeep {
namespace {

namespace asio = boost::asio;
using Strand = asio::strand<asio::any_io_executor>;

// One output of a process, read as it comes. Stays alive while asio waits on it.
class Capture : public std::enable_shared_from_this<Capture> {
 public:
  Capture(const Strand& strand, UniqueFd pipe) : pipe_(strand, pipe.Release()) {}

  void Start() {
    pipe_.async_wait(asio::posix::descriptor_base::wait_read,
                     [self = shared_from_this()](boost::system::error_code error) {
                       if (!error && self->Drain()) self->Start();
                     });
  }

  // The process is gone: takes what is left and lets go, though others may hold the pipe.
  std::string Finish(bool& truncated) {
    if (pipe_.is_open()) Drain();
    boost::system::error_code ignored;
    pipe_.close(ignored);
    truncated = truncated || truncated_;
    return std::move(bytes_);
  }

 private:
  // False: nothing more will come.
  bool Drain() {
    std::array<char, 16_KiB> chunk;
    for (;;) {
      const ssize_t size = ::read(pipe_.native_handle(), chunk.data(), chunk.size());
      if (size < 0 && errno == EINTR) continue;
      if (size < 0) return errno == EAGAIN;
      if (size == 0) return false;
      Keep(std::string_view(chunk.data(), static_cast<std::size_t>(size)));
    }
  }

  void Keep(std::string_view chunk) {
    const std::size_t room = kMaxEngineOutputBytes - bytes_.size();
    if (chunk.size() > room) {
      truncated_ = true;
      chunk = chunk.substr(0, room);
    }
    bytes_.append(chunk);
  }

  asio::posix::stream_descriptor pipe_;
  std::string bytes_;
  bool truncated_ = false;
};

struct Pipe {
  UniqueFd read;
  UniqueFd write;
};

absl::StatusOr<Pipe> MakePipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return ErrnoStatus(errno, "pipe2");
  Pipe pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
  // Ours only: the program must find an ordinary pipe.
  if (::fcntl(pipe.read.get(), F_SETFL, O_NONBLOCK) != 0) return ErrnoStatus(errno, "fcntl");
  return pipe;
}

absl::StatusOr<UniqueFd> OpenNull() {
  UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!null) return ErrnoStatus(errno, "/dev/null");
  return null;
}

// False: it hasn't ended.
bool Reap(int pidfd, ProcessResult& result) {
  siginfo_t info{};
  int rc = 0;
  do {
    rc = ::waitid(static_cast<idtype_t>(P_PIDFD), static_cast<id_t>(pidfd), &info,
                  WEXITED | WNOHANG);
  } while (rc != 0 && errno == EINTR);
  if (rc != 0 || info.si_pid == 0) return false;
  if (info.si_code == CLD_EXITED) {
    result.exit_code = info.si_status;
  } else {
    result.signal = info.si_status;
  }
  return true;
}

// Reaps one that was killed, whenever it is gone.
asio::awaitable<void> ReapLater(std::shared_ptr<asio::posix::stream_descriptor> pidfd) {
  ProcessResult ignored;
  while (!Reap(pidfd->native_handle(), ignored)) {
    co_await pidfd->async_wait(asio::posix::descriptor_base::wait_read,
                               asio::as_tuple(asio::use_awaitable));
  }
}

struct Running {
  StartedProcess process;
  std::shared_ptr<Capture> output;
  std::shared_ptr<Capture> error;
};

absl::StatusOr<Running> StartCaptured(const ProcessCommand& command, const UniqueFd* input,
                                      const Strand& strand) {
  ASSIGN_OR_RETURN(const UniqueFd null, OpenNull());
  const int standard_input = input == nullptr ? null.get() : input->get();
  ASSIGN_OR_RETURN(Pipe output, MakePipe());
  ASSIGN_OR_RETURN(Pipe error, MakePipe());
  Running running;
  ASSIGN_OR_RETURN(running.process, SpawnProcess(command, {{standard_input, STDIN_FILENO},
                                                           {output.write.get(), STDOUT_FILENO},
                                                           {error.write.get(), STDERR_FILENO}}));
  running.output = std::make_shared<Capture>(strand, std::move(output.read));
  running.error = std::make_shared<Capture>(strand, std::move(error.read));
  running.output->Start();
  running.error->Start();
  return running;
}

// What the deadline's timer shares with the coroutine: both on one strand.
struct Deadline {
  Deadline(const Strand& strand, pid_t pid_given) : timer(strand), pid(pid_given) {}
  asio::steady_timer timer;
  pid_t pid;  // 0: reaped, so the number may be another's by now.
  bool passed = false;
};

void KillAtDeadline(const std::shared_ptr<Deadline>& deadline, std::chrono::milliseconds after) {
  deadline->timer.expires_after(after);
  deadline->timer.async_wait([deadline](boost::system::error_code error) {
    if (error || deadline->pid == 0) return;
    deadline->passed = true;
    ::kill(-deadline->pid, SIGKILL);
  });
}

Async<ProcessResult> RunOnStrand(Strand strand, ProcessCommand command,
                                 std::chrono::milliseconds after,
                                 std::shared_ptr<const UniqueFd> input) {
  // A caller who leaves must not leave a process that nobody reaps.
  co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
  CO_ASSIGN_OR_RETURN(Running running, StartCaptured(command, input.get(), strand));
  auto pidfd =
      std::make_shared<asio::posix::stream_descriptor>(strand, running.process.pidfd.Release());
  auto deadline = std::make_shared<Deadline>(strand, running.process.pid);
  KillAtDeadline(deadline, after);
  auto give_up = std::make_shared<asio::steady_timer>(strand);
  auto hopeless = std::make_shared<bool>(false);
  give_up->expires_after(after + kKilledProcessGrace);
  give_up->async_wait([pidfd, hopeless](boost::system::error_code error) {
    if (error) return;
    *hopeless = true;
    pidfd->cancel(error);
  });

  ProcessResult result;
  bool ended = Reap(pidfd->native_handle(), result);
  while (!ended && !*hopeless) {
    // May come back too early: with several threads asio can mistake an event of a descriptor that
    // was closed for one of ours.
    co_await pidfd->async_wait(asio::posix::descriptor_base::wait_read,
                               asio::as_tuple(asio::use_awaitable));
    ended = Reap(pidfd->native_handle(), result);
  }
  deadline->pid = 0;
  deadline->timer.cancel();
  give_up->cancel();
  result.timed_out = deadline->passed;
  result.standard_output = running.output->Finish(result.truncated);
  result.standard_error = running.error->Finish(result.truncated);
  if (ended) co_return result;
  Spawn(strand, "process.reap", ReapLater(std::move(pidfd)));
  co_return absl::DeadlineExceededError(StrCat(command.program, " doesn't die"));
}

}  // namespace

std::string ProcessResult::Summary() const {
  std::string text = timed_out ? "timed out" : StrCat("exit ", exit_code);
  if (!timed_out && exit_code < 0) text = StrCat("signal ", signal);
  std::string_view line = standard_error;
  while (!line.empty() && line.back() == '\n') line.remove_suffix(1);
  if (const std::size_t at = line.rfind('\n'); at != std::string_view::npos) {
    line.remove_prefix(at + 1);
  }
  if (!line.empty()) StrAppend(&text, ": ", line.substr(0, kMaxComplaintBytes));
  return text;
}

Async<ProcessResult> RunProcess(ProcessCommand command, std::chrono::milliseconds deadline,
                                std::shared_ptr<const UniqueFd> input) {
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  const Strand strand = asio::make_strand(executor);
  Async<ProcessResult> run = RunOnStrand(strand, std::move(command), deadline, std::move(input));
  co_return co_await AwaitOn(asio::any_io_executor(strand), std::move(run));
}

absl::StatusOr<StartedProcess> StartProcess(const ProcessCommand& command,
                                            absl::Span<const PassedDescriptor> descriptors) {
  ASSIGN_OR_RETURN(const UniqueFd null, OpenNull());
  std::vector<PassedDescriptor> all = {
      {null.get(), STDIN_FILENO}, {null.get(), STDOUT_FILENO}, {STDERR_FILENO, STDERR_FILENO}};
  all.insert(all.end(), descriptors.begin(), descriptors.end());
  return SpawnProcess(command, all);
}

void EndProcess(const asio::any_io_executor& executor, StartedProcess process) {
  if (!process.pidfd) return;
  ::kill(-process.pid, SIGKILL);
  auto pidfd = std::make_shared<asio::posix::stream_descriptor>(executor, process.pidfd.Release());
  Spawn(executor, "process.reap", ReapLater(std::move(pidfd)));
}

}  // namespace sandkeep
