// Becomes a daemon by the book: twice forked, a session of its own, no terminal and no output; and
// deaf to what could be ignored. Prints the daemon's pid.

#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace {

[[noreturn]] void BeDaemon() {
  for (int number = 1; number < NSIG; ++number) ::signal(number, SIG_IGN);
  std::printf("%d\n", ::getpid());
  std::fflush(stdout);
  ::close(STDIN_FILENO);
  ::close(STDOUT_FILENO);
  ::close(STDERR_FILENO);
  for (;;) ::pause();
}

}  // namespace

int main() {
  if (::fork() != 0) return EXIT_SUCCESS;
  ::setsid();
  if (::fork() != 0) return EXIT_SUCCESS;
  BeDaemon();
}
