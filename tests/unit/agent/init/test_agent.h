// The agent's side of init's protocol, written out: sends any frame, and waits for what init says.
// For init's tests only; the product's is agent/init_link.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/frame_socket.h"
#include "common/unique_fd.h"
#include "sandkeep/init/v1/init.pb.h"
#include "tests/fakes/init_process.h"

namespace sandkeep::init {

struct Outcome {
  int wait_status = -1;
  int left_behind = 0;
  bool supervisor_lost = false;

  int exit_code() const;  // -1: a signal ended it.
  int signal() const;     // 0: none did.
};

// The agent's ends of a started job's pipes.
struct RunningJob {
  std::string id;
  UniqueFd output;
  UniqueFd error_output;
  UniqueFd input;
  int pid = 0;
};

struct StartOptions {
  std::string cwd = {};
  std::vector<std::pair<std::string, std::string>> env = {};
  bool merge_streams = true;
  bool stdin_pipe = false;
};

class TestAgent {
 public:
  // Takes the channel and says hello; what an earlier agent left in the queue is passed over.
  explicit TestAgent(const InitProcess& init);
  // With a channel that a container runtime has taken.
  explicit TestAgent(UniqueFd channel);

  const std::vector<v1::JobState>& jobs_at_hello() const { return jobs_; }
  std::uint64_t dropped_at_hello() const { return dropped_; }

  void Send(const v1::ToInit& frame, const std::vector<int>& descriptors = {});
  void SendRaw(std::string_view bytes, const std::vector<int>& descriptors = {});

  // Everything that starts it, in one frame or in parts; nothing is waited for.
  RunningJob Begin(std::string_view command, const StartOptions& options = {});
  // Begin, and Started.
  RunningJob Start(std::string_view command, const StartOptions& options = {});

  void Signal(const RunningJob& job, int signal, bool tree);
  void Forget(const RunningJob& job);
  void Ping();  // And the pong: everything sent before has been taken.

  // Each waits for that frame of that job; others are kept. Fails the test after a while.
  int WaitStarted(const RunningJob& job);
  Outcome WaitExited(const RunningJob& job);
  void WaitGone(const RunningJob& job);
  v1::Refused WaitRefused(const std::string& id);
  v1::FromInit WaitFor(const std::function<bool(const v1::FromInit&)>& wanted);
  // Takes what is there now: true if there is such a frame.
  bool Has(const std::function<bool(const v1::FromInit&)>& wanted);

  // Start to Gone and Forget; the output by `output`.
  Outcome RunToEnd(std::string_view command, std::string* output = nullptr,
                   const StartOptions& options = {});

 private:
  void Hello();
  bool TakeOne(std::chrono::steady_clock::time_point deadline);

  std::unique_ptr<FrameSocket> socket_;
  std::vector<v1::FromInit> kept_;
  std::vector<v1::JobState> jobs_;
  std::uint64_t dropped_ = 0;
  unsigned next_id_ = 0;
};

// To the end of file, or until `until` has come.
std::string ReadAll(const UniqueFd& pipe, std::string_view until = {});
// The first line; for what a command says when it is ready.
std::string ReadLine(const UniqueFd& pipe);

// A new id, 16 bytes, that no other has in this process.
std::string NewJobId();

}  // namespace sandkeep::init
