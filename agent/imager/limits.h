// Bounds of pictures.
#pragma once

#include <chrono>
#include <cstdint>

namespace sandkeep {

// Of a picture's file: no camera's JPEG is larger, and it stands in memory beside its pixels.
inline constexpr std::int64_t kMaxImageFileBytes = 32LL << 20;
// Of sandkeep-imager, all that it maps: 40 million pixels of four bytes, the file, the libraries.
inline constexpr std::uint64_t kImagerMemoryBytes = 256ULL << 20;
inline constexpr std::uint64_t kImagerCpuSeconds = 2;
// Longer than its processor time, since the machine has other work too.
inline constexpr std::chrono::milliseconds kImagerDeadline{6000};
// At once: each may take a processor and its memory.
inline constexpr int kMaxImagers = 2;

// What may be asked for. What is to be shown passes through an answer of the agent's, with room for
// its header in what a process of ours may print.
inline constexpr int kMinImagePixels = 16;
inline constexpr std::int64_t kMinImageBytes = 1LL << 10;
inline constexpr std::int64_t kMaxImageBytes = (4LL << 20) - 64;

}  // namespace sandkeep
