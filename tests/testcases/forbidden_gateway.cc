// sandkeep-forbidden-gateway: sandkeep-gateway with a tool that tries, in the running process, what
// a taken-over gateway would try. A test program: nothing installs it. Most of what it tries ends
// it.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "common/unique_fd.h"
#include "gateway/mcp/tools/tool.h"
#include "gateway/program.h"

namespace sandkeep::mcp {
namespace {

bool ConnectToSsh() {
  const UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(22);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return ::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
}

bool MakeCode() {
  return ::mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) !=
         MAP_FAILED;
}

bool Open(const std::string& path, int flags) {
  return UniqueFd(::open(path.c_str(), flags | O_CLOEXEC, 0600)).valid();
}

// Whether it could be done.
bool Try(const std::string& what, const std::string& path) {
  if (what == "execute") return ::execl("/bin/true", "true", nullptr) == 0;
  if (what == "fork") return ::fork() >= 0;
  if (what == "connect") return ConnectToSsh();
  if (what == "trace") return ::ptrace(PTRACE_ATTACH, ::getppid(), nullptr, nullptr) == 0;
  if (what == "kill") return ::kill(::getppid(), 0) == 0;
  if (what == "code") return MakeCode();
  if (what == "read") return Open(path, O_RDONLY);
  if (what == "write") return Open(path, O_WRONLY | O_CREAT);
  errno = EINVAL;
  return false;
}

class TryForbidden : public Tool {
 public:
  std::string_view name() const override { return "try_forbidden"; }
  ToolDescription Describe(const agent::v1::Info* /*host*/) const override {
    ToolDescription description;
    description.title = "Try what is forbidden";
    description.text = "For the tests of the confinement.";
    return description;
  }
  Async<ToolResult> Call(CallContext& /*context*/, Arguments arguments) override {
    const auto what = arguments.Text("what");
    const auto path = arguments.Text("path");
    const bool done = Try(what.value().value_or(""), path.value().value_or(""));
    co_return ToolResult::Text(done ? "done" : std::strerror(errno));
  }
};

Registry Hook() {
  Registry registry;
  registry.tools.push_back(std::make_unique<TryForbidden>());
  return registry;
}

}  // namespace
}  // namespace sandkeep::mcp

int main(int argc, char** argv) { return sandkeep::RunGateway(argc, argv, sandkeep::mcp::Hook()); }
