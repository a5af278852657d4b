#include "agent/init_link/outbox.h"

#include <utility>

#include "common/limits.h"

namespace sandkeep {

absl::Status Outbox::Add(std::vector<OutFrame> frames) {
  std::size_t added = 0;
  for (const OutFrame& frame : frames) added += frame.bytes.size();
  if (bytes_ + added > kMaxInitQueueBytes) {
    return absl::ResourceExhaustedError("the sandbox doesn't take more commands now");
  }
  bytes_ += added;
  for (OutFrame& frame : frames) frames_.push_back(std::move(frame));
  return absl::OkStatus();
}

absl::Status Outbox::Flush(FrameSocket& socket) {
  std::vector<int> numbers;
  while (!frames_.empty()) {
    const OutFrame& next = frames_.front();
    numbers.clear();
    for (const UniqueFd& fd : next.descriptors) numbers.push_back(fd.get());
    const absl::Status sent = socket.Send(next.bytes, numbers);
    if (absl::IsResourceExhausted(sent)) return absl::OkStatus();
    if (!sent.ok()) return sent;
    bytes_ -= next.bytes.size();
    frames_.pop_front();
  }
  return absl::OkStatus();
}

}  // namespace sandkeep
