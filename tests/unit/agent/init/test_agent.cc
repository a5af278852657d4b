#include "tests/unit/agent/init/test_agent.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "common/limits.h"
#include "common/status_codes.h"
#include "tests/fakes/patience.h"

namespace sandkeep::init {
namespace {

using std::chrono::steady_clock;

int MillisecondsTo(steady_clock::time_point deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - steady_clock::now());
  return static_cast<int>(std::max<std::int64_t>(left.count(), 0));
}

void WaitFor(int fd, short events, steady_clock::time_point deadline) {
  pollfd wait{fd, events, 0};
  ::poll(&wait, 1, MillisecondsTo(deadline));
}

// A read end with a file description of its own, as the agent makes it.
UniqueFd Reopen(const UniqueFd& end) {
  const std::string path = "/proc/self/fd/" + std::to_string(end.get());
  return UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
}

struct Pipe {
  UniqueFd read;
  UniqueFd write;
};

Pipe MakePipe() {
  int ends[2] = {-1, -1};
  EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

}  // namespace

int Outcome::exit_code() const { return WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : -1; }
int Outcome::signal() const { return WIFSIGNALED(wait_status) ? WTERMSIG(wait_status) : 0; }

std::string NewJobId() {
  static unsigned next = 0;
  std::string id(16, '\0');
  ++next;
  std::memcpy(id.data(), &next, sizeof next);
  return id;
}

TestAgent::TestAgent(const InitProcess& init) {
  absl::StatusOr<UniqueFd> channel = init.TakeChannel();
  EXPECT_TRUE(channel.ok()) << channel.status();
  socket_ = std::make_unique<FrameSocket>(FrameSocket::Adopt(*std::move(channel)).value());
  Hello();
}

TestAgent::TestAgent(UniqueFd channel)
    : socket_(std::make_unique<FrameSocket>(FrameSocket::Adopt(std::move(channel)).value())) {
  Hello();
}

void TestAgent::Hello() {
  const std::string epoch = NewJobId();
  v1::ToInit frame;
  frame.mutable_hello()->set_version(v1::V1);
  frame.mutable_hello()->set_epoch(epoch);
  Send(frame);
  for (bool more = true; more;) {
    const v1::FromInit answer = WaitFor([&](const v1::FromInit& candidate) {
      return candidate.has_hello() && candidate.hello().epoch() == epoch;
    });
    for (const v1::JobState& job : answer.hello().jobs()) jobs_.push_back(job);
    dropped_ = answer.hello().dropped_frames();
    more = answer.hello().more();
  }
  // What came before belongs to an earlier agent.
  kept_.clear();
}

void TestAgent::Send(const v1::ToInit& frame, const std::vector<int>& descriptors) {
  SendRaw(frame.SerializeAsString(), descriptors);
}

void TestAgent::SendRaw(std::string_view bytes, const std::vector<int>& descriptors) {
  const auto deadline = steady_clock::now() + kTestPatience;
  absl::Status sent = socket_->Send(bytes, descriptors);
  while (absl::IsResourceExhausted(sent) && steady_clock::now() < deadline) {
    sandkeep::init::WaitFor(socket_->fd(), POLLOUT, deadline);
    sent = socket_->Send(bytes, descriptors);
  }
  EXPECT_TRUE(sent.ok()) << sent;
}

RunningJob TestAgent::Begin(std::string_view command, const StartOptions& options) {
  RunningJob job;
  job.id = NewJobId();
  Pipe output = MakePipe();
  const UniqueFd kept_output = Reopen(output.read);
  std::vector<int> descriptors = {output.write.get()};
  Pipe error_output;
  UniqueFd kept_error;
  if (!options.merge_streams) {
    error_output = MakePipe();
    kept_error = Reopen(error_output.read);
    descriptors.push_back(error_output.write.get());
  }
  descriptors.push_back(kept_output.get());
  if (!options.merge_streams) descriptors.push_back(kept_error.get());
  Pipe input;
  if (options.stdin_pipe) {
    input = MakePipe();
    descriptors.push_back(input.read.get());
  }
  v1::ToInit frame;
  v1::Start& start = *frame.mutable_start();
  start.set_job_id(job.id);
  start.set_command_bytes(static_cast<std::uint32_t>(command.size()));
  start.set_cwd(options.cwd);
  start.set_merge_streams(options.merge_streams);
  start.set_stdin_pipe(options.stdin_pipe);
  for (const auto& [name, value] : options.env) {
    v1::Variable& variable = *start.add_env();
    variable.set_name(name);
    variable.set_value(value);
  }
  const bool whole = command.size() < kMaxCommandPartBytes && options.env.empty();
  if (whole) start.set_command(command.data(), command.size());
  Send(frame, descriptors);
  while (!whole && !command.empty()) {
    const std::string_view part = command.substr(0, kMaxCommandPartBytes);
    command.remove_prefix(part.size());
    v1::ToInit part_frame;
    part_frame.mutable_command()->set_job_id(job.id);
    part_frame.mutable_command()->set_data(part.data(), part.size());
    Send(part_frame);
  }
  v1::ToInit run;
  run.mutable_run()->set_job_id(job.id);
  if (!whole) Send(run);
  job.output = std::move(output.read);
  job.error_output = std::move(error_output.read);
  job.input = std::move(input.write);
  return job;
}

RunningJob TestAgent::Start(std::string_view command, const StartOptions& options) {
  RunningJob job = Begin(command, options);
  job.pid = WaitStarted(job);
  return job;
}

void TestAgent::Signal(const RunningJob& job, int signal, bool tree) {
  v1::ToInit frame;
  frame.mutable_signal()->set_job_id(job.id);
  frame.mutable_signal()->set_signal(signal);
  frame.mutable_signal()->set_tree(tree);
  Send(frame);
}

void TestAgent::Forget(const RunningJob& job) {
  v1::ToInit frame;
  frame.mutable_forget()->set_job_id(job.id);
  Send(frame);
}

void TestAgent::Ping() {
  static std::uint64_t nonce = 0;
  v1::ToInit frame;
  frame.mutable_ping()->set_nonce(++nonce);
  Send(frame);
  const std::uint64_t expected = nonce;
  WaitFor([&](const v1::FromInit& candidate) {
    return candidate.has_pong() && candidate.pong().nonce() == expected;
  });
}

int TestAgent::WaitStarted(const RunningJob& job) {
  const v1::FromInit frame = WaitFor([&](const v1::FromInit& candidate) {
    return candidate.has_started() && candidate.started().job_id() == job.id;
  });
  return static_cast<int>(frame.started().pid());
}

Outcome TestAgent::WaitExited(const RunningJob& job) {
  const v1::FromInit frame = WaitFor([&](const v1::FromInit& candidate) {
    return candidate.has_exited() && candidate.exited().job_id() == job.id;
  });
  return {frame.exited().wait_status(), static_cast<int>(frame.exited().left_behind()),
          frame.exited().supervisor_lost()};
}

void TestAgent::WaitGone(const RunningJob& job) {
  WaitFor([&](const v1::FromInit& candidate) {
    return candidate.has_gone() && candidate.gone().job_id() == job.id;
  });
}

v1::Refused TestAgent::WaitRefused(const std::string& id) {
  return WaitFor([&](const v1::FromInit& candidate) {
           return candidate.has_refused() && candidate.refused().job_id() == id;
         })
      .refused();
}

v1::FromInit TestAgent::WaitFor(const std::function<bool(const v1::FromInit&)>& wanted) {
  const auto deadline = steady_clock::now() + kTestPatience;
  std::size_t looked_at = 0;
  for (;;) {
    for (; looked_at < kept_.size(); ++looked_at) {
      if (!wanted(kept_[looked_at])) continue;
      v1::FromInit found = kept_[looked_at];
      kept_.erase(kept_.begin() + static_cast<std::ptrdiff_t>(looked_at));
      return found;
    }
    if (!TakeOne(deadline)) {
      ADD_FAILURE() << "init didn't say what was waited for";
      return {};
    }
  }
}

bool TestAgent::Has(const std::function<bool(const v1::FromInit&)>& wanted) {
  while (TakeOne(steady_clock::now())) {
  }
  return std::any_of(kept_.begin(), kept_.end(), wanted);
}

bool TestAgent::TakeOne(steady_clock::time_point deadline) {
  for (;;) {
    const absl::StatusOr<Frame> frame = socket_->Receive();
    if (frame.ok()) {
      v1::FromInit parsed;
      EXPECT_TRUE(parsed.ParseFromString(frame->bytes));
      EXPECT_TRUE(frame->descriptors.empty());
      kept_.push_back(parsed);
      if (parsed.has_exited() && parsed.exited().gone()) {
        v1::FromInit gone;
        gone.mutable_gone()->set_job_id(parsed.exited().job_id());
        kept_.push_back(gone);
      }
      return true;
    }
    if (!absl::IsResourceExhausted(frame.status()) || steady_clock::now() >= deadline) return false;
    sandkeep::init::WaitFor(socket_->fd(), POLLIN, deadline);
  }
}

Outcome TestAgent::RunToEnd(std::string_view command, std::string* output,
                            const StartOptions& options) {
  const RunningJob job = Start(command, options);
  const std::string text = ReadAll(job.output);
  if (output != nullptr) *output = text;
  const Outcome outcome = WaitExited(job);
  WaitGone(job);
  Forget(job);
  return outcome;
}

std::string ReadAll(const UniqueFd& pipe, std::string_view until) {
  const auto deadline = steady_clock::now() + kTestPatience;
  std::string text;
  char buffer[65536];
  for (;;) {
    pollfd wait{pipe.get(), POLLIN, 0};
    if (::poll(&wait, 1, MillisecondsTo(deadline)) != 1) {
      ADD_FAILURE() << "a pipe without an end; so far: " << text;
      return text;
    }
    const ssize_t size = ::read(pipe.get(), buffer, sizeof buffer);
    if (size <= 0) return text;
    text.append(buffer, static_cast<std::size_t>(size));
    if (!until.empty() && text.find(until) != std::string::npos) return text;
  }
}

std::string ReadLine(const UniqueFd& pipe) {
  std::string line = ReadAll(pipe, "\n");
  return line.substr(0, line.find('\n'));
}

}  // namespace sandkeep::init
