// What every fuzz target is: one function over bytes that anybody could have sent. It is linked
// with libFuzzer, or with replay.cc, which gives it the files of a folder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace sandkeep {

// What must hold for every input, in every build.
inline void Require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "doesn't hold: %s\n", what);
  std::abort();
}

inline std::string_view AsText(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// Everything up to `separator`, which goes too; all of it if there is none.
inline std::string_view TakeUntil(std::string_view* text, char separator) {
  const std::size_t at = text->find(separator);
  const std::string_view taken = text->substr(0, at);
  text->remove_prefix(at == std::string_view::npos ? text->size() : at + 1);
  return taken;
}

}  // namespace sandkeep
