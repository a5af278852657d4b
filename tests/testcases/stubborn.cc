// Ignores every signal that can be ignored. Prints its pid.

#include <signal.h>
#include <unistd.h>

#include <cstdio>

int main() {
  for (int number = 1; number < NSIG; ++number) ::signal(number, SIG_IGN);
  std::printf("%d\n", ::getpid());
  std::fflush(stdout);
  for (;;) ::pause();
}
