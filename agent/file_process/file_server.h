// The serving half of proto/sandkeep/files/v1: requests in, replies out, one after the other. Lives
// in sandkeep-files; one thread. What it opens for others it closes at once: it holds volumes,
// files that are being written until they are committed and walks that aren't at their end, and
// nothing else. What takes long is done in turns, so that others wait for one turn at most.
#pragma once

#include <cstdint>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "agent/file_process/measurement.h"
#include "agent/file_process/new_file.h"
#include "common/frame_socket.h"
#include "common/unique_fd.h"
#include "sandkeep/files/v1/files.pb.h"

namespace sandkeep {

class FileServer {
 public:
  explicit FileServer(FrameSocket agent) : agent_(std::move(agent)) {}

  // Tells the agent, unasked, that it may write the id maps; done when it has.
  absl::Status AwaitMaps();

  // Answers that first ping, then serves until the agent is gone (OK) or has broken the protocol.
  absl::Status Serve();

 private:
  absl::StatusOr<Frame> Receive();
  absl::Status Send(const files::v1::Reply& reply, int descriptor = -1);
  absl::Status Handle(Frame frame);

  int AddVolume(const files::v1::AddVolume& request, Frame& frame);
  absl::Status Stat(std::uint64_t id, const files::v1::Stat& request);
  absl::Status Open(std::uint64_t id, const files::v1::Open& request);
  absl::Status List(std::uint64_t id, const files::v1::List& request);
  absl::Status Create(std::uint64_t id, const files::v1::Create& request);
  absl::Status Commit(std::uint64_t id, const files::v1::Commit& request);
  absl::Status Delete(std::uint64_t id, const files::v1::Delete& request);
  absl::Status Measure(std::uint64_t id, const files::v1::Measure& request);
  void DropVolume(std::uint64_t handle);
  absl::Status Pong(std::uint64_t id);
  absl::Status Answer(std::uint64_t id, int error);
  // -1: no such volume.
  int Volume(std::uint64_t handle) const;

  FrameSocket agent_;
  std::uint64_t ping_ = 0;
  absl::flat_hash_map<std::uint64_t, UniqueFd> volumes_;
  std::uint64_t next_file_ = 1;
  absl::flat_hash_map<std::uint64_t, NewFile> files_;
  std::uint64_t next_walk_ = 1;
  struct Walk {
    std::uint64_t volume = 0;
    Measurement tree;
  };
  absl::flat_hash_map<std::uint64_t, Walk> walks_;
};

}  // namespace sandkeep
