#include "agent/runtime/spawn.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "common/status_codes.h"
#include "common/status_macros.h"
#include "common/strings.h"

namespace sandkeep {
namespace {

class FileActions {
 public:
  FileActions() { ::posix_spawn_file_actions_init(&actions_); }
  ~FileActions() { ::posix_spawn_file_actions_destroy(&actions_); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;

  posix_spawn_file_actions_t* get() { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_;
};

class Attributes {
 public:
  Attributes() { ::posix_spawnattr_init(&attributes_); }
  ~Attributes() { ::posix_spawnattr_destroy(&attributes_); }
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;

  posix_spawnattr_t* get() { return &attributes_; }

 private:
  posix_spawnattr_t attributes_;
};

// Returns an errno, as the posix_spawn family does.
int SetAttributes(posix_spawnattr_t* attributes) {
  sigset_t none;
  sigset_t all;
  ::sigemptyset(&none);
  ::sigfillset(&all);
  int error = ::posix_spawnattr_setsigmask(attributes, &none);
  if (error == 0) error = ::posix_spawnattr_setsigdefault(attributes, &all);
  if (error == 0) error = ::posix_spawnattr_setpgroup(attributes, 0);
  if (error == 0) {
    error = ::posix_spawnattr_setflags(
        attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  }
  return error;
}

int SetActions(posix_spawn_file_actions_t* actions,
               const std::vector<PassedDescriptor>& descriptors) {
  int error = ::posix_spawn_file_actions_addchdir_np(actions, "/");
  for (const PassedDescriptor& passed : descriptors) {
    if (error != 0) return error;
    error = ::posix_spawn_file_actions_adddup2(actions, passed.descriptor, passed.target);
  }
  if (error != 0) return error;
  return ::posix_spawn_file_actions_addclosefrom_np(actions, static_cast<int>(descriptors.size()));
}

std::vector<char*> Pointers(const std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  pointers.reserve(strings.size() + 1);
  for (const std::string& text : strings) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// Copies above every target, so that no dup2 overwrites the source of a later one.
absl::StatusOr<std::vector<UniqueFd>> CopyAbove(std::vector<PassedDescriptor>& descriptors) {
  std::vector<UniqueFd> copies;
  for (PassedDescriptor& passed : descriptors) {
    UniqueFd copy(
        ::fcntl(passed.descriptor, F_DUPFD_CLOEXEC, static_cast<int>(descriptors.size())));
    if (!copy) return ErrnoStatus(errno, "F_DUPFD_CLOEXEC");
    passed.descriptor = copy.get();
    copies.push_back(std::move(copy));
  }
  return copies;
}

}  // namespace

absl::StatusOr<StartedProcess> SpawnProcess(const ProcessCommand& command,
                                            const std::vector<PassedDescriptor>& descriptors) {
  std::vector<PassedDescriptor> passed = descriptors;
  ASSIGN_OR_RETURN(const std::vector<UniqueFd> copies, CopyAbove(passed));
  FileActions actions;
  Attributes attributes;
  int error = SetAttributes(attributes.get());
  if (error == 0) error = SetActions(actions.get(), passed);
  std::vector<std::string> arguments = command.arguments;
  arguments.insert(arguments.begin(), command.program);
  StartedProcess process;
  if (error == 0) {
    error = ::posix_spawn(&process.pid, command.program.c_str(), actions.get(), attributes.get(),
                          Pointers(arguments).data(), Pointers(command.environment).data());
  }
  if (error != 0) return ErrnoStatus(error, StrCat("starting ", command.program));
  // Nobody else reaps our children, so the pid is still this process's.
  process.pidfd.Reset(static_cast<int>(::syscall(SYS_pidfd_open, process.pid, 0)));
  if (process.pidfd) return process;
  const absl::Status why = ErrnoStatus(errno, "pidfd_open");
  // Nobody could wait for it later.
  ::kill(process.pid, SIGKILL);
  while (::waitpid(process.pid, nullptr, 0) < 0 && errno == EINTR) {
  }
  return why;
}

}  // namespace sandkeep
