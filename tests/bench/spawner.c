// spawner [AT_ONCE EACH [WAY]]: starts a login shell that does nothing, AT_ONCE of them at a time and EACH times that many,
// and prints one line of JSON: the median and the mean time of one in microseconds, and what it takes of the processors.
// Built and run inside a sandbox's container.
//
// WAY: `bare`: each of as many workers spawns one after the other. Of many at once the median says little then: a worker
// whose turn it is spawns several in it while the others wait, and more than half of all take a fraction of the mean. The
// mean is what all of them take of the processors, in whatever order.
// `kept`: a process orders, and a worker is what a command's supervisor has to be: it gets the command's text and the write
// end of the output's pipe with the order, reaps every descendant, tells the start, and that nothing is left; the shell leads
// a session. `fresh`: as kept, but a process forked for each command.

#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char** environ;

enum { BARE, KEPT, FRESH };
enum { MOST = 256, TEXT = 3 };
static const char COMMAND[] = "true";
static char EVALUATE[] = "unset -v __text; IFS= read -r -d '' -u 3 __text || :; exec 3<&-; eval \"$__text\"";
static int way = BARE;

struct worker {
  int orders;  // A socket pair's end.
  int output;  // A pipe's, while a command runs.
  double begun;
};
static double* took;

static double now_us(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1e6 + now.tv_nsec / 1e3;
}

static double cpu_us(int who) {
  struct rusage used;
  getrusage(who, &used);
  return (used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1e6 + used.ru_utime.tv_usec + used.ru_stime.tv_usec;
}

static void fail(const char* what) {
  perror(what);
  _exit(EXIT_FAILURE);
}

// --- the orderer's descriptors on their way to a worker

static void send_order(int socket, const int* numbers) {
  char byte = 'o', control[CMSG_SPACE(2 * sizeof(int))] = {0};
  struct iovec part = {&byte, 1};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
  struct cmsghdr* rights = CMSG_FIRSTHDR(&message);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(2 * sizeof(int));
  memcpy(CMSG_DATA(rights), numbers, 2 * sizeof(int));
  if (sendmsg(socket, &message, MSG_NOSIGNAL) != 1) fail("sendmsg");
}

// Ends with the orderer's end of the socket.
static void take_order(int socket, int* numbers) {
  char byte, control[CMSG_SPACE(2 * sizeof(int))];
  struct iovec part = {&byte, 1};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
  if (recvmsg(socket, &message, MSG_CMSG_CLOEXEC) != 1) _exit(EXIT_SUCCESS);
  memcpy(numbers, CMSG_DATA(CMSG_FIRSTHDR(&message)), 2 * sizeof(int));
}

// --- a worker

static void spawn_each(double* each_took, int count) {
  char* arguments[] = {"bash", "-lc", "true", NULL};
  for (int i = 0; i < count; i++) {
    const double begun = now_us();
    pid_t pid;
    if (posix_spawn(&pid, "/bin/bash", NULL, NULL, arguments, environ) != 0) fail("posix_spawn");
    waitpid(pid, NULL, 0);
    each_took[i] = now_us() - begun;
  }
}

static void supervise(int reports, int output, int text) {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  const pid_t pid = vfork();
  if (pid == 0) {
    char* arguments[] = {"bash", "-l", "-c", EVALUATE, NULL};
    setsid();
    dup2(output, STDOUT_FILENO);
    dup2(output, STDERR_FILENO);
    dup2(text, TEXT);
    execve("/bin/bash", arguments, environ);
    _exit(EXIT_FAILURE);
  }
  close(output);
  close(text);
  if (pid < 0 || send(reports, "s", 1, MSG_NOSIGNAL) != 1) fail("starting");
  while (wait(NULL) > 0) {
  }
  if (send(reports, "e", 1, MSG_NOSIGNAL) != 1) fail("reporting");
}

static void work(int orders) {
  for (;;) {
    int numbers[2] = {-1, -1};
    take_order(orders, numbers);
    const pid_t fresh = way == FRESH ? fork() : 0;
    if (fresh == 0) supervise(orders, numbers[0], numbers[1]);
    if (way == KEPT) continue;
    if (fresh == 0) _exit(EXIT_SUCCESS);
    close(numbers[0]);
    close(numbers[1]);
    waitpid(fresh, NULL, 0);
  }
}

// --- the orderer

static void order(struct worker* worker) {
  worker->begun = now_us();
  int pipe[2];
  const int text = memfd_create("text", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (text < 0 || pipe2(pipe, O_CLOEXEC) != 0) fail("making a pipe");
  if (pwrite(text, COMMAND, strlen(COMMAND), 0) < 0) fail("pwrite");
  fcntl(text, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL);
  send_order(worker->orders, (int[]){pipe[1], text});
  close(pipe[1]);
  close(text);
  worker->output = pipe[0];
}

// True: its shell has ended, and all that it printed is there.
static int ended(struct worker* worker) {
  char report, output[64];
  if (recv(worker->orders, &report, 1, 0) != 1) fail("a worker");
  if (report != 'e') return 0;
  while (read(worker->output, output, sizeof output) > 0) {
  }
  close(worker->output);
  return 1;
}

static int compare(const void* a, const void* b) {
  const double difference = *(const double*)a - *(const double*)b;
  return (difference > 0) - (difference < 0);
}

// Each by itself.
static void run_bare(int at_once, int each) {
  for (int i = 0; i < at_once; i++) {
    if (fork() == 0) {
      spawn_each(took + i * each, each);
      _exit(EXIT_SUCCESS);
    }
  }
}

static void run_ordered(int at_once, int all) {
  struct worker workers[MOST];
  struct pollfd waits[MOST];
  // The text's number is free for it.
  while (open("/dev/null", O_RDWR | O_CLOEXEC) < TEXT) {
  }
  for (int i = 0; i < at_once; i++) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) fail("socketpair");
    if (fork() == 0) {
      for (int k = 0; k < i; k++) close(workers[k].orders);
      close(ends[0]);
      work(ends[1]);
    }
    close(ends[1]);
    workers[i].orders = ends[0];
    waits[i] = (struct pollfd){.fd = ends[0], .events = POLLIN};
  }
  int started = 0, done = 0;
  while (started < at_once) order(&workers[started++]);
  while (done < all) {
    if (poll(waits, at_once, -1) < 0) fail("poll");
    for (int i = 0; i < at_once && done < all; i++) {
      if (waits[i].revents == 0 || !ended(&workers[i])) continue;
      took[done++] = now_us() - workers[i].begun;
      if (started < all) started++, order(&workers[i]);
    }
  }
  for (int i = 0; i < at_once; i++) close(workers[i].orders);
}

int main(int argc, char** argv) {
  const int at_once = argc > 1 ? atoi(argv[1]) : 1, each = argc > 2 ? atoi(argv[2]) : 200, all = at_once * each;
  if (argc > 3) way = strcmp(argv[3], "kept") == 0 ? KEPT : strcmp(argv[3], "fresh") == 0 ? FRESH : BARE;
  if (at_once < 1 || at_once > MOST || each < 1) return EXIT_FAILURE;
  took = mmap(NULL, all * sizeof *took, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (took == MAP_FAILED) fail("mmap");
  if (way == BARE) {
    run_bare(at_once, each);
  } else {
    run_ordered(at_once, all);
  }
  while (wait(NULL) > 0) {
  }
  qsort(took, all, sizeof *took, compare);
  double sum = 0;
  for (int i = 0; i < all; i++) sum += took[i];
  printf("{\"p50_us\": %.1f, \"mean_us\": %.1f, \"cpu_us\": %.1f}\n", took[all / 2], sum / all,
         (cpu_us(RUSAGE_SELF) + cpu_us(RUSAGE_CHILDREN)) / all);
}
