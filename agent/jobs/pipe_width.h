// Makes a pipe wider for as long as its writer is fast: with the kernel's 64 KiB both sides change
// turns at every few writes, and that takes longer than moving the bytes does.
//
// One turn's at a time, as the pipe is. The kernel counts the pages of all pipes of a user and cuts
// new ones to 8 KiB beyond 64 MiB, so that an agent makes only kMaxWidePipes wide at once. What one
// that ended has left wide, the next sets back when it begins with that pipe, or counts it as one
// of them where it holds more than fits; until then it is wide and counted by nobody.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "common/unique_fd.h"

namespace sandkeep {

class PipeWidth {
 public:
  PipeWidth() = default;
  PipeWidth(const PipeWidth&) = delete;
  PipeWidth& operator=(const PipeWidth&) = delete;
  ~PipeWidth() { Forget(); }

  // Before the first turn.
  void Begin(const UniqueFd& pipe);
  // A turn took so many bytes out of it.
  void Took(const UniqueFd& pipe, std::int64_t bytes);
  // It is closed on our side, as wide as it is.
  void Forget();

  bool wide() const { return wide_; }

 private:
  void Widen(const UniqueFd& pipe);
  void Narrow(const UniqueFd& pipe);

  bool wide_ = false;
  std::chrono::steady_clock::time_point since_;
  std::int64_t bytes_ = 0;  // Since then.
};

}  // namespace sandkeep
