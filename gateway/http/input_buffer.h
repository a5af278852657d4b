// What came from a socket and isn't parsed yet. Small while a connection idles, grows to one piece
// of a body. Belongs to its connection.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

#include "common/limits.h"

namespace sandkeep::http {

class InputBuffer {
 public:
  static constexpr std::size_t kMostBytes = kHttpPieceBytes;

  std::string_view unread() const { return {bytes_.get() + begin_, end_ - begin_}; }
  bool empty() const { return begin_ == end_; }
  void Consume(std::size_t count) { begin_ += count; }

  // Where to read to: at least a quarter of what there is, unless the buffer is full with what
  // isn't parsed (then it is empty). Moves the unread bytes, so never while a read is outstanding.
  struct Space {
    char* data;
    std::size_t size;
  };
  Space Prepare() {
    if (empty()) begin_ = end_ = 0;
    if (capacity_ - end_ < capacity_ / 4 || capacity_ == 0) MakeRoom();
    return {bytes_.get() + end_, capacity_ - end_};
  }
  void Commit(std::size_t count) { end_ += count; }

  // Back to the size of an idle connection, where nothing is lost by it. Frees the bytes, so never
  // while a read is outstanding.
  void Shrink() {
    if (empty() && capacity_ != kLeastBytes) *this = InputBuffer();
  }

  // The same for a read that only waits for the client to leave: a thousand streams are a thousand
  // of these.
  void ShrinkToWatch() {
    if (!empty()) return;
    *this = InputBuffer();
    bytes_.reset(new char[kWatchBytes]);
    capacity_ = kWatchBytes;
  }

 private:
  static constexpr std::size_t kLeastBytes = 4_KiB;
  static constexpr std::size_t kWatchBytes = 1_KiB;

  void MakeRoom() {
    const std::size_t unread_bytes = end_ - begin_;
    const bool grow = unread_bytes > capacity_ / 2 || capacity_ == 0;
    const std::size_t size = grow ? std::clamp(capacity_ * 4, kLeastBytes, kMostBytes) : capacity_;
    if (size > capacity_) {
      std::unique_ptr<char[]> larger(new char[size]);
      if (unread_bytes > 0) std::memcpy(larger.get(), bytes_.get() + begin_, unread_bytes);
      bytes_ = std::move(larger);
      capacity_ = size;
    } else if (begin_ > 0) {
      std::memmove(bytes_.get(), bytes_.get() + begin_, unread_bytes);
    }
    begin_ = 0;
    end_ = unread_bytes;
  }

  std::unique_ptr<char[]> bytes_;
  std::size_t capacity_ = 0;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

}  // namespace sandkeep::http
