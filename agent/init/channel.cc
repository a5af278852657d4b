#include "agent/init/channel.h"

#include "common/limits.h"

namespace sandkeep::init {

std::optional<Request> Channel::Receive() {
  absl::StatusOr<Frame> frame = socket_.Receive();
  if (!frame.ok()) {
    if (!absl::IsResourceExhausted(frame.status())) CountDropped();
    return std::nullopt;
  }
  Request request;
  if (!request.frame.ParseFromString(frame->bytes)) {
    CountDropped();
    return std::nullopt;
  }
  request.descriptors = std::move(frame->descriptors);
  return request;
}

void Channel::Queue(const v1::FromInit& reply) {
  if (queue_.size() == kMaxInitReplies) queue_.pop_front();
  queue_.push_back(reply.SerializeAsString());
}

bool Channel::Flush() {
  while (!queue_.empty()) {
    if (absl::IsResourceExhausted(socket_.Send(queue_.front()))) return false;
    queue_.pop_front();
  }
  return true;
}

bool Channel::Send(const v1::FromInit& frame) {
  return !absl::IsResourceExhausted(socket_.Send(frame.SerializeAsString()));
}

}  // namespace sandkeep::init
