// Room on the disk that was promised to who writes a file and isn't taken yet. Looking how much is
// free and promising it is one step: two who come at once are not both given the last of it. Blocks
// on the disk. Thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "absl/status/statusor.h"

namespace sandkeep {

class DiskRoom {
 public:
  // Held until the room is taken, or isn't needed.
  using Claim = std::shared_ptr<const std::int64_t>;

  // `floor`: what must stay free of the file system of `folder`.
  DiskRoom(std::string folder, std::int64_t floor)
      : state_(std::make_shared<State>()), folder_(std::move(folder)), floor_(floor) {}

  // nullptr: there isn't so much.
  absl::StatusOr<Claim> Take(std::int64_t size) const;

 private:
  struct State {
    std::mutex mutex;
    std::int64_t claimed = 0;
  };

  const std::shared_ptr<State> state_;
  const std::string folder_;
  const std::int64_t floor_;
};

}  // namespace sandkeep
