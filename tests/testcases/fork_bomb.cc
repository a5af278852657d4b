// fork_bomb N: forks as fast as it can, in every process that it has, up to N processes. Prints
// `full` when it has met the limit. Each process ends by itself after a while, whoever forgets it.

#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>

namespace {

constexpr unsigned kSecondsToLive = 60;

}  // namespace

int main(int argc, char** argv) {
  const rlim_t most = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 0;
  const rlimit limit{most, most};
  if (most == 0 || ::setrlimit(RLIMIT_NPROC, &limit) != 0) return EXIT_FAILURE;
  const pid_t first = ::getpid();
  bool said = false;
  ::alarm(kSecondsToLive);
  for (;;) {
    const pid_t pid = ::fork();
    if (pid == 0) ::alarm(kSecondsToLive);
    if (pid < 0 && !said && ::getpid() == first) said = ::write(STDOUT_FILENO, "full\n", 5) == 5;
  }
}
