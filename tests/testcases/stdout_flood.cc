// stdout_flood N: N lines of sixteen bytes as fast as they are taken, each with its number, so that
// an offset names its line.

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

int main(int argc, char** argv) {
  constexpr std::size_t kBuffer = 1 << 16;
  const long lines = argc > 1 ? std::strtol(argv[1], nullptr, 10) : 0;
  std::string buffer;
  constexpr std::size_t kLine = 16;
  char line[32];
  for (long number = 0; number < lines; ++number) {
    std::snprintf(line, sizeof line, "%015ld\n", number);
    buffer.append(line, kLine);
    if (buffer.size() < kBuffer && number + 1 < lines) continue;
    for (std::size_t at = 0; at < buffer.size();) {
      const ssize_t size = ::write(STDOUT_FILENO, buffer.data() + at, buffer.size() - at);
      if (size <= 0) return EXIT_FAILURE;
      at += static_cast<std::size_t>(size);
    }
    buffer.clear();
  }
  return EXIT_SUCCESS;
}
