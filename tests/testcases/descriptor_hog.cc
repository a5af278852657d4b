// Takes every descriptor and all the pipe memory that it can get, in as many processes as it may
// have; says `full` and holds on to all of it until it is ended, or for a minute.

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>

namespace {

constexpr unsigned kSecondsToLive = 60;
// The largest that anybody may have without a privilege; the kernel counts them for each user.
constexpr int kPipeBytes = 1 << 20;
constexpr int kProcesses = 24;

// Pipes, full ones, until no more can be had.
void HoardPipes() {
  static char bytes[1 << 16];
  int ends[2];
  while (::pipe2(ends, O_NONBLOCK) == 0) {
    ::fcntl(ends[1], F_SETPIPE_SZ, kPipeBytes);
    // A few are enough to use up what a user may have; the rest is for the descriptors.
    if (ends[1] < 64) {
      while (::write(ends[1], bytes, sizeof bytes) > 0) {
      }
    }
  }
  while (::dup(STDERR_FILENO) >= 0) {
  }
}

}  // namespace

int main() {
  int ready[2];
  if (::pipe(ready) != 0) return EXIT_FAILURE;
  int hogs = 0;
  for (; hogs < kProcesses; ++hogs) {
    const pid_t pid = ::fork();
    if (pid < 0) break;
    if (pid > 0) continue;
    ::alarm(kSecondsToLive);
    HoardPipes();
    (void)!::write(ready[1], "", 1);
    for (;;) ::pause();
  }
  ::alarm(kSecondsToLive);
  char byte = 0;
  for (int i = 0; i < hogs; ++i) (void)!::read(ready[0], &byte, 1);
  HoardPipes();
  (void)!::write(STDOUT_FILENO, "full\n", 5);
  for (;;) ::pause();
}
