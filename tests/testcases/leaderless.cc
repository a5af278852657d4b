// A process whose first thread is gone: /proc shows a zombie, and its other thread lives on.

#include <pthread.h>
#include <unistd.h>

#include <cstdio>
#include <thread>

int main() {
  std::thread([] {
    std::printf("%d\n", ::getpid());
    std::fflush(stdout);
    for (;;) ::pause();
  }).detach();
  ::pthread_exit(nullptr);
}
