#include "agent/jobs/input.h"

#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <utility>

#include "common/limits.h"
#include "common/status_codes.h"

namespace sandkeep {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

// A write to a pipe that nobody reads, without the signal that would end the process: held back in
// this thread, and taken out if the write raised it.
ssize_t WriteWithoutSignal(int fd, const char* data, std::size_t size) {
  sigset_t pipe_signal, before;
  ::sigemptyset(&pipe_signal);
  ::sigaddset(&pipe_signal, SIGPIPE);
  ::pthread_sigmask(SIG_BLOCK, &pipe_signal, &before);
  const ssize_t written = ::write(fd, data, size);
  const int error = errno;
  if (written < 0 && error == EPIPE && ::sigismember(&before, SIGPIPE) == 0) {
    const timespec now{};
    ::sigtimedwait(&pipe_signal, nullptr, &now);
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = error;
  return written;
}

}  // namespace

Input::Input(asio::any_io_executor strand, UniqueFd pipe)
    : waiter_(std::move(strand)), pipe_(std::move(pipe)) {
  error_code error;
  waiter_.assign(pipe_.get(), error);
  if (error) pipe_.Reset();
}

Input::~Input() { Stop(); }

absl::Status Input::Write(std::string data, bool end) {
  if (!open()) return absl::FailedPreconditionError("the command's input is closed");
  if (bytes_ + data.size() > kMaxStdinBytes) {
    return absl::ResourceExhaustedError("the command doesn't read its input: try again later");
  }
  bytes_ += data.size();
  if (!data.empty()) waiting_.push_back(std::move(data));
  ending_ = end;
  if (!armed_) Flush();
  return absl::OkStatus();
}

void Input::Stop() {
  if (waiter_.is_open()) waiter_.release();
  pipe_.Reset();
  waiting_.clear();
  bytes_ = 0;
}

void Input::Flush() {
  while (!waiting_.empty() && WriteSome()) {
  }
  if (!pipe_) return;
  if (!waiting_.empty()) return Wait();
  if (ending_) Stop();
}

bool Input::WriteSome() {
  const std::string& next = waiting_.front();
  const ssize_t size =
      WriteWithoutSignal(pipe_.get(), next.data() + written_, next.size() - written_);
  if (size < 0) {
    if (errno == EINTR) return true;
    if (errno != EAGAIN) Stop();
    return false;
  }
  written_ += static_cast<std::size_t>(size);
  bytes_ -= static_cast<std::size_t>(size);
  if (written_ == next.size()) {
    waiting_.pop_front();
    written_ = 0;
  }
  return true;
}

void Input::Wait() {
  armed_ = true;
  auto writable = [self = shared_from_this()](error_code error) {
    self->armed_ = false;
    if (!error && self->pipe_) self->Flush();
  };
  waiter_.async_wait(asio::posix::descriptor_base::wait_write, std::move(writable));
}

}  // namespace sandkeep
