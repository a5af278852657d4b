// A peer that speaks init's protocol, truthfully or not: for tests of what the agent does with an
// init that lies. In the test's own process, so that the descriptors that it names are the test's.
#pragma once

#include <sys/syscall.h>
#include <unistd.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/runtime/container_runtime.h"
#include "common/frame_socket.h"
#include "common/random.h"
#include "sandkeep/init/v1/init.pb.h"

namespace sandkeep {

class LyingInit {
 public:
  LyingInit() : LyingInit(FrameSocket::Pair().value()) {}

  // Once.
  RunningContainer Container() {
    const auto pidfd = static_cast<int>(::syscall(SYS_pidfd_open, ::getpid(), 0));
    return {.name = EngineName::Make(SystemRandom()),
            .hostname = {},
            .init_pid = ::getpid(),
            .init_pidfd = UniqueFd(pidfd),
            .channel = agents_.Release(),
            .counts = {},
            .is_frozen = {}};
  }

  // What the agent has said next; nothing: nothing yet. Descriptors are kept.
  std::optional<init::v1::ToInit> Hear() {
    absl::StatusOr<Frame> frame = ours_.Receive();
    init::v1::ToInit message;
    if (!frame.ok() || !message.ParseFromString(frame->bytes)) return std::nullopt;
    if (message.has_hello()) epoch_ = message.hello().epoch();
    for (UniqueFd& fd : frame->descriptors) descriptors_.push_back(std::move(fd));
    return message;
  }
  // True: the agent has closed its end. What it said before is thrown away.
  bool AgentGone() {
    absl::Status status;
    while (status.ok()) status = ours_.Receive().status();
    return absl::IsUnavailable(status);
  }
  std::vector<UniqueFd>& descriptors() { return descriptors_; }

  absl::Status Say(const init::v1::FromInit& message) {
    return SayBytes(message.SerializeAsString());
  }
  absl::Status SayBytes(const std::string& bytes, std::vector<int> descriptors = {}) {
    return ours_.Send(bytes, descriptors);
  }
  // To the last hello heard.
  init::v1::FromInit Reply(std::vector<init::v1::JobState> jobs = {}) const {
    init::v1::FromInit message;
    message.mutable_hello()->set_version(init::v1::V1);
    message.mutable_hello()->set_epoch(epoch_);
    for (init::v1::JobState& job : jobs) *message.mutable_hello()->add_jobs() = std::move(job);
    return message;
  }
  // For what FrameSocket would not send.
  int fd() const { return ours_.fd(); }
  void Die() { ours_.Release().Reset(); }

 private:
  explicit LyingInit(std::pair<FrameSocket, FrameSocket> ends)
      : ours_(std::move(ends.first)), agents_(std::move(ends.second)) {}

  FrameSocket ours_;
  FrameSocket agents_;
  std::string epoch_;
  std::vector<UniqueFd> descriptors_;
};

}  // namespace sandkeep
