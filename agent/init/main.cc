// sandkeep-init: PID 1 of every sandbox. Makes the channel on its fixed descriptors, then serves
// the agent for as long as the sandbox lives.
//
//   sandkeep-init [--workspace DIR]    Where commands start; /workspace.
//   sandkeep-init --version

#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "agent/init/channel.h"
#include "agent/init/channel_fds.h"
#include "agent/init/hardening.h"
#include "agent/init/job_table.h"
#include "agent/init/loop.h"
#include "common/status_macros.h"

namespace sandkeep::init {
namespace {

constexpr int kUsageError = 2;
constexpr mode_t kUmask = 022;
// Taken by /dev/null before the channel is made, so that no descriptor that means something is ever
// one of the standard three.
constexpr int kStandardFds = 3;

// What the engine left open is closed; what it left closed is opened.
absl::Status FillStandardFds() {
  ::close_range(kStandardFds, ~0U, 0);
  for (;;) {
    const int fd = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    if (fd < 0) return absl::FailedPreconditionError("/dev/null can't be opened");
    if (fd < kStandardFds) {
      ::fcntl(fd, F_SETFD, 0);
      continue;
    }
    ::dup2(fd, STDIN_FILENO);
    ::dup2(fd, STDOUT_FILENO);
    ::close(fd);
    return absl::OkStatus();
  }
}

// Its end stands on kInitChannelFd; the agent's stays on kAgentChannelFd, with no owner here.
absl::StatusOr<FrameSocket> MakeChannel() {
  ASSIGN_OR_RETURN(auto ends, FrameSocket::Pair());
  if (ends.first.fd() != kInitChannelFd || ends.second.fd() != kAgentChannelFd) {
    return absl::InternalError("the channel isn't where the agent looks for it");
  }
  ends.second.Release().Release();
  return std::move(ends.first);
}

int GiveBackConstants(dl_phdr_info* object, std::size_t /*size*/, void* /*none*/) {
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  // Some place in the object, which the others are counted from.
  char* const headers = const_cast<char*>(reinterpret_cast<const char*>(object->dlpi_phdr));
  const auto origin = reinterpret_cast<std::uintptr_t>(headers);
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = object->dlpi_phdr[i];
    if (part.p_type != PT_LOAD || (part.p_flags & PF_W) != 0) continue;
    const std::uintptr_t from = (object->dlpi_addr + part.p_vaddr) / page * page;
    const std::uintptr_t to = object->dlpi_addr + part.p_vaddr + part.p_memsz;
    ::madvise(headers + static_cast<std::ptrdiff_t>(from - origin), to - from, MADV_DONTNEED);
  }
  return 0;
}

// Most of the executable is needed by its start alone: locales, seccomp's tables. Of the code and
// the constants, those pages stay in memory that are used from now on; they come back by
// themselves.
void GiveBackStart() { ::dl_iterate_phdr(GiveBackConstants, nullptr); }

absl::Status Serve(const std::string& workspace) {
  ::umask(kUmask);
  RETURN_IF_ERROR(FillStandardFds());
  IgnoreSignals();
  RETURN_IF_ERROR(Harden());
  // As PID 1 it is one already.
  if (::prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) return absl::InternalError("no subreaper");
  ASSIGN_OR_RETURN(FrameSocket socket, MakeChannel());
  Channel channel(std::move(socket));
  JobTable jobs(channel, workspace);
  ASSIGN_OR_RETURN(Loop loop, Loop::Make(channel, jobs));
  // Whoever held the other end of stderr may stop reading.
  ::dup2(STDIN_FILENO, STDERR_FILENO);
  GiveBackStart();
  loop.Run();
}

int Main(int argc, char** argv) {
  std::string workspace = "/workspace";
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--version") {
      std::puts("sandkeep-init " SANDKEEP_VERSION);
      return EXIT_SUCCESS;
    }
    if (argument != "--workspace" || i + 1 == argc) {
      std::fputs("usage: sandkeep-init [--workspace DIR] | --version\n", stderr);
      return kUsageError;
    }
    workspace = argv[++i];
  }
  const absl::Status status = Serve(workspace);
  std::fprintf(stderr, "sandkeep-init: %s\n", std::string(status.message()).c_str());
  return EXIT_FAILURE;
}

}  // namespace
}  // namespace sandkeep::init

int main(int argc, char** argv) { return sandkeep::init::Main(argc, argv); }
