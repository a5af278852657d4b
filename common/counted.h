// One of several that do the same at once, counted while it lives. Any thread.
#pragma once

#include <atomic>

namespace sandkeep {

class Counted {
 public:
  explicit Counted(std::atomic<int>& count) : count_(count), rank_(++count) {}
  ~Counted() { --count_; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;

  // How many there were when it began, itself included.
  int rank() const { return rank_; }

 private:
  std::atomic<int>& count_;
  const int rank_;
};

}  // namespace sandkeep
