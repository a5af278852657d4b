// How many calls of one peer are worked on at once, so that no peer can fill the agent with calls
// that it starts and leaves. Thread-safe.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <utility>

namespace sandkeep {

class CallCount {
 public:
  // Holds one place until destroyed.
  class Place {
   public:
    explicit Place(std::shared_ptr<std::atomic<int>> count) : count_(std::move(count)) {}
    Place(Place&&) = default;
    Place& operator=(Place&&) = delete;
    ~Place() {
      if (count_ != nullptr) --*count_;
    }

   private:
    std::shared_ptr<std::atomic<int>> count_;
  };

  explicit CallCount(int most) : most_(most) {}

  std::optional<Place> Take() {
    if (++*count_ > most_) {
      --*count_;
      return std::nullopt;
    }
    return Place(count_);
  }

  int now() const { return *count_; }

 private:
  const int most_;
  const std::shared_ptr<std::atomic<int>> count_ = std::make_shared<std::atomic<int>>(0);
};

}  // namespace sandkeep
