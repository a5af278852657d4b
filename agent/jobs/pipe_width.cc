#include "agent/jobs/pipe_width.h"

#include <fcntl.h>

#include <atomic>
#include <utility>

#include "common/limits.h"

namespace sandkeep {
namespace {

constexpr int kUsualPipeBytes = 64 << 10;
constexpr std::int64_t kSlowWriterBytes = kFastWriterBytes / 4;

std::atomic<int> wide_pipes{0};

}  // namespace

void PipeWidth::Begin(const UniqueFd& pipe) {
  if (::fcntl(pipe.get(), F_GETPIPE_SZ) <= kUsualPipeBytes) return;
  wide_ = true;
  ++wide_pipes;
  Narrow(pipe);
}

void PipeWidth::Took(const UniqueFd& pipe, std::int64_t bytes) {
  // It fell silent.
  if (bytes == 0) return Narrow(pipe);
  bytes_ += bytes;
  const auto now = std::chrono::steady_clock::now();
  if (now - since_ < kFastWriterTime) return;
  if (bytes_ >= kFastWriterBytes) Widen(pipe);
  if (bytes_ < kSlowWriterBytes) Narrow(pipe);
  since_ = now;
  bytes_ = 0;
}

void PipeWidth::Widen(const UniqueFd& pipe) {
  if (wide_) return;
  wide_ = wide_pipes.fetch_add(1) < kMaxWidePipes &&
          ::fcntl(pipe.get(), F_SETPIPE_SZ, kWidePipeBytes) >= kWidePipeBytes;
  if (!wide_) --wide_pipes;
}

// What holds more than fits stays as it is until the next look.
void PipeWidth::Narrow(const UniqueFd& pipe) {
  if (wide_ && ::fcntl(pipe.get(), F_SETPIPE_SZ, kUsualPipeBytes) >= 0) Forget();
}

void PipeWidth::Forget() {
  if (std::exchange(wide_, false)) --wide_pipes;
}

}  // namespace sandkeep
