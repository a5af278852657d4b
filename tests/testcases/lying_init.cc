// In the place of sandkeep-init: makes the channel as that does, then tells the agent what its
// label says: garbage, huge, empty, silent, descriptors, flood, forged, reordered, stranger, twice,
// mute. Without protobuf, so that it can also say what no library would.
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

namespace {

constexpr int kOurs = 3;
constexpr int kEpochBytes = 16;
constexpr std::size_t kMostDescriptors = 8;

std::string Field(int number, std::string_view bytes) {
  std::string field(1, static_cast<char>(number << 3 | 2));
  // Sizes of up to two digits of seven bits are all that is said here.
  if (bytes.size() > 127) field += static_cast<char>((bytes.size() & 127) | 128);
  field += static_cast<char>(bytes.size() > 127 ? bytes.size() >> 7 : bytes.size());
  return field += bytes;
}

std::string Number(int number, int value) {
  return {static_cast<char>(number << 3), static_cast<char>(value)};
}

void Say(std::string_view bytes, int descriptor = -1, std::size_t copies = 0) {
  iovec part{const_cast<char*>(bytes.data()), bytes.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kMostDescriptors)]{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (descriptor >= 0) {
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(sizeof(int) * copies);
    cmsghdr* const head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof(int) * copies);
    for (std::size_t i = 0; i < copies; ++i) {
      std::memcpy(CMSG_DATA(head) + i * sizeof(int), &descriptor, sizeof(int));
    }
  }
  ::sendmsg(kOurs, &message, MSG_NOSIGNAL);
}

std::string Hear() {
  std::string bytes(1 << 16, '\0');
  const ssize_t size = ::recv(kOurs, bytes.data(), bytes.size(), 0);
  bytes.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  return bytes;
}

// The 16 bytes behind this field's head: an epoch, or a job's id.
std::string SixteenIn(const std::string& frame, int number) {
  const std::string head{static_cast<char>(number << 3 | 2), kEpochBytes};
  const std::size_t at = frame.find(head);
  return at == std::string::npos ? std::string(kEpochBytes, 'x')
                                 : frame.substr(at + head.size(), kEpochBytes);
}

std::string Started(const std::string& job) { return Field(2, Field(1, job) + Number(2, 7)); }
std::string Exited(const std::string& job) { return Field(3, Field(1, job) + Number(2, 0)); }

void LieInsteadOfHello(std::string_view lie) {
  if (lie == "garbage") Say("\xff\xff\xff\x0f garbage \x01");
  if (lie == "huge") Say(std::string(100'000, '\n'));
  if (lie == "empty") Say("");
  if (lie == "descriptors") {
    int pipe[2];
    if (::pipe(pipe) != 0) std::abort();
    for (const int descriptor :
         {kOurs, pipe[0], ::open("/", O_PATH), ::open("/dev/zero", O_RDWR)}) {
      Say(Field(11, ""), descriptor, kMostDescriptors);
    }
  }
  while (lie == "flood") Say(Field(11, ""));
}

void LieAboutJobs(std::string_view lie, const std::string& job) {
  if (lie == "reordered") Say(Exited(job));
  if (lie == "stranger") Say(Started(std::string(kEpochBytes, 's')));
  if (lie == "twice") {
    Say(Started(job));
    Say(Exited(job));
    Say(Exited(job));
  }
}

}  // namespace

int main() {
  char name[65] = {};
  ::gethostname(name, sizeof(name) - 1);
  // The sandbox's key: its label, and what follows the last dash.
  const std::string_view key(name);
  const std::string_view lie = key.substr(0, key.rfind('-'));
  ::close_range(kOurs, ~0U, 0);
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return 1;
  // What was said before isn't heard: it could be an earlier agent's.
  const std::string epoch = SixteenIn(Hear(), 2);
  LieInsteadOfHello(lie);
  while (lie == "silent") ::pause();
  std::string jobs;
  if (lie == "forged") {
    // Descriptors of its own, none of which is a pipe that the agent made.
    jobs = Field(
        3, Field(1, std::string(kEpochBytes, 'f')) + Number(2, 1) + Number(6, 3) + Number(7, 0));
  }
  Say(Field(1, Number(1, 1) + Field(2, epoch) + jobs));
  for (;;) {
    const std::string frame = Hear();
    if (frame.empty()) ::pause();
    // Start's number.
    if (!frame.empty() && frame[0] == (2 << 3 | 2)) LieAboutJobs(lie, SixteenIn(frame, 1));
  }
}
