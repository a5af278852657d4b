// Unpredictable bytes, so that tests can make them predictable. Implementations are thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/types/span.h"

namespace sandkeep {

class Random {
 public:
  virtual ~Random() = default;
  virtual void Fill(absl::Span<std::uint8_t> bytes) = 0;

  std::string Bytes(std::size_t count) {
    std::string bytes(count, '\0');
    Fill(absl::MakeSpan(reinterpret_cast<std::uint8_t*>(bytes.data()), bytes.size()));
    return bytes;
  }
};

// The kernel's, by getrandom(2). Ends the process if the kernel has none: nothing here is safe
// without it.
Random& SystemRandom();

}  // namespace sandkeep
