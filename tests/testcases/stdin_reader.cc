// Says that it reads, reads its input to the end, and says how many bytes that were.

#include <unistd.h>

#include <cstdio>
#include <cstdlib>

int main() {
  static char bytes[1 << 16];
  std::puts("reading");
  std::fflush(stdout);
  unsigned long total = 0;
  ssize_t size = 0;
  while ((size = ::read(STDIN_FILENO, bytes, sizeof bytes)) > 0) {
    total += static_cast<unsigned long>(size);
  }
  std::printf("%lu bytes\n", total);
  return size == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
