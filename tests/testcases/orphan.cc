// orphan N: its parent goes at once, and it prints N lines, one every 20 ms, to whom it inherited.

#include <unistd.h>

#include <cstdio>
#include <cstdlib>

int main(int argc, char** argv) {
  constexpr useconds_t kPause = 20'000;
  const long lines = argc > 1 ? std::strtol(argv[1], nullptr, 10) : 0;
  if (::fork() != 0) return EXIT_SUCCESS;
  for (long line = 1; line <= lines; ++line) {
    ::usleep(kPause);
    std::printf("orphan %ld\n", line);
    std::fflush(stdout);
  }
  return EXIT_SUCCESS;
}
