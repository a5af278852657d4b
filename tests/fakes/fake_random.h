// Bytes that look random, never repeat within a test, and are the same in every run. Thread-safe.
#pragma once

#include <mutex>
#include <random>

#include "common/random.h"

namespace sandkeep {

class FakeRandom : public Random {
 public:
  explicit FakeRandom(std::uint64_t seed = 1) : engine_(seed) {}

  void Fill(absl::Span<std::uint8_t> bytes) override {
    const std::lock_guard lock(mutex_);
    for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(engine_());
  }

 private:
  std::mutex mutex_;
  std::mt19937_64 engine_;
};

}  // namespace sandkeep
