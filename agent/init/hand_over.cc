#include "agent/init/hand_over.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

namespace sandkeep::init {
namespace {

// Standard input, output and error, the command's text, and what a shell that stands by waits for.
constexpr std::size_t kMaxDescriptors = 5;

struct Control {
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * kMaxDescriptors)> bytes{};
};

msghdr MessageOf(iovec& text, Control& control) {
  msghdr message{};
  message.msg_iov = &text;
  message.msg_iovlen = 1;
  message.msg_control = control.bytes.data();
  message.msg_controllen = control.bytes.size();
  return message;
}

// How many descriptors came, each under the number that the shell's text has for it. 0: others.
std::size_t CountInOrder(msghdr& message) {
  constexpr std::array<int, kMaxDescriptors> kNumbers = {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO,
                                                         kCommandFd, kReadyFd};
  const cmsghdr* rights = CMSG_FIRSTHDR(&message);
  if (rights == nullptr || rights->cmsg_type != SCM_RIGHTS) return 0;
  const std::size_t size = rights->cmsg_len - CMSG_LEN(0);
  const std::size_t count = size / sizeof(int);
  if (count + 1 < kMaxDescriptors || count > kMaxDescriptors) return 0;
  return std::memcmp(CMSG_DATA(rights), kNumbers.data(), size) == 0 ? count : 0;
}

}  // namespace

bool SendCommand(int socket, const CommandSetup& setup) {
  const std::vector<std::string>& entries = setup.environment.entries();
  if (entries.size() > kMaxHandOverEntries) return false;
  // The folder and each variable, all with the NUL that ends them.
  std::string text(setup.folder.c_str(), setup.folder.size() + 1);
  for (const std::string& entry : entries) text.append(entry.c_str(), entry.size() + 1);
  if (text.size() > kMaxHandOverBytes) return false;

  // Init's own standard input is /dev/null.
  const std::array<int, kMaxDescriptors> numbers = {
      setup.stdin_read >= 0 ? setup.stdin_read : STDIN_FILENO, setup.stdout_write,
      setup.stderr_write >= 0 ? setup.stderr_write : setup.stdout_write, setup.command,
      setup.ready};
  const std::size_t size = sizeof(int) * (kMaxDescriptors - (setup.ready < 0 ? 1 : 0));
  Control control;
  iovec part{text.data(), text.size()};
  msghdr message = MessageOf(part, control);
  cmsghdr* rights = CMSG_FIRSTHDR(&message);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(size);
  message.msg_controllen = CMSG_SPACE(size);
  std::memcpy(CMSG_DATA(rights), numbers.data(), size);
  return ::sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) ==
         static_cast<ssize_t>(text.size());
}

bool HandOver::Receive(int socket) {
  Control control;
  iovec part{text_.data(), text_.size()};
  msghdr message{};
  ssize_t size = 0;
  do {
    message = MessageOf(part, control);
    size = ::recvmsg(socket, &message, MSG_PEEK);
  } while (size < 0 && errno == EINTR);
  if (size <= 0 || (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0) return false;
  const std::size_t descriptors = CountInOrder(message);
  if (descriptors == 0 || !Parse(static_cast<std::size_t>(size))) return false;
  standby_ = descriptors == kMaxDescriptors;
  // Taken only now: a receive that a SIGKILL has met takes the message with it, and init couldn't
  // tell that nothing has begun.
  char byte = 0;
  return ::recv(socket, &byte, 1, MSG_DONTWAIT) > 0;
}

bool HandOver::Parse(std::size_t size) {
  if (text_[size - 1] != '\0') return false;
  std::size_t count = 0;
  for (char* entry = text_.data() + std::strlen(text_.data()) + 1; entry < text_.data() + size;
       entry += std::strlen(entry) + 1) {
    if (count == kMaxHandOverEntries) return false;
    environment_[count++] = entry;
  }
  environment_[count] = nullptr;
  return true;
}

}  // namespace sandkeep::init
