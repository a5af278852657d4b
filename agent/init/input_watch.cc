#include "agent/init/input_watch.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <vector>

#include "common/strings.h"
#include "common/unique_fd.h"

namespace sandkeep::init {
namespace {

bool ReadsInput(pid_t pid) {
  const UniqueFd file(::open(StrCat("/proc/", pid, "/syscall").c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return false;
  // The number and the first argument.
  std::array<char, 128> text;
  const ssize_t size = ::read(file.get(), text.data(), text.size());
  return size > 0 && IsReadOfInput({text.data(), static_cast<std::size_t>(size)});
}

bool HasAsInput(pid_t pid, ino_t pipe) {
  struct stat input{};
  return ::stat(StrCat("/proc/", pid, "/fd/0").c_str(), &input) == 0 && input.st_ino == pipe &&
         S_ISFIFO(input.st_mode);
}

}  // namespace

bool IsReadOfInput(std::string_view syscall) {
  const std::vector<std::string_view> words = Split(syscall, ' ');
  if (words.size() < 2 || words[1] != "0x0") return false;
  long number = -1;
  const auto [end, error] =
      std::from_chars(words[0].data(), words[0].data() + words[0].size(), number);
  if (error != std::errc() || end != words[0].data() + words[0].size()) return false;
  return number == SYS_read || number == SYS_readv;
}

bool WaitsForInput(const ProcessTree& tree, pid_t supervisor, ino_t pipe) {
  const std::vector<Process> living = tree.LivingBelow({supervisor});
  return std::any_of(living.begin(), living.end(), [pipe](const Process& process) {
    return process.state == 'S' && ReadsInput(process.pid) && HasAsInput(process.pid, pipe);
  });
}

}  // namespace sandkeep::init
