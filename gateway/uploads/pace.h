// Whether a sender is worth its place: in each `patience` that is spent waiting for it, it must
// bring kHttpPieceBytes. What the disk takes isn't counted against it. Plain value.
#pragma once

#include <chrono>
#include <cstddef>

#include "common/limits.h"

namespace sandkeep {

class Pace {
 public:
  using Duration = std::chrono::steady_clock::duration;

  explicit Pace(Duration patience) : patience_(patience) {}

  // `bytes` came after `waited`. False: it is too slow.
  bool Keeps(Duration waited, std::size_t bytes) {
    waited_ += waited;
    bytes_ += bytes;
    if (waited_ < patience_) return true;
    const bool enough = bytes_ >= kHttpPieceBytes;
    waited_ = Duration::zero();
    bytes_ = 0;
    return enough;
  }

 private:
  const Duration patience_;
  Duration waited_ = Duration::zero();
  std::size_t bytes_ = 0;
};

}  // namespace sandkeep
