// sandkeep-files: opens files below volumes for the agent, in a user namespace that maps the
// sandboxes' ids only. Started by the agent with the channel on a fixed descriptor; it ends when
// the agent does. It has no settings and reads no file of its own.

#include <cstdio>
#include <string_view>
#include <utility>

#include "agent/file_process/channel_fd.h"
#include "agent/file_process/file_server.h"
#include "agent/file_process/lockdown.h"
#include "common/log.h"
#include "common/status_codes.h"
#include "common/status_macros.h"

namespace sandkeep {
namespace {

absl::Status Check(int error, std::string_view what) {
  return error == 0 ? absl::OkStatus() : ErrnoStatus(error, what);
}

absl::Status Run() {
  ASSIGN_OR_RETURN(FrameSocket agent, FrameSocket::Adopt(UniqueFd(kFileProcessChannelFd)));
  RETURN_IF_ERROR(Check(EnterUserNamespace(), "a user namespace"));
  FileServer server(std::move(agent));
  RETURN_IF_ERROR(server.AwaitMaps());
  RETURN_IF_ERROR(Check(DropPrivileges(), "dropping privileges"));
  RETURN_IF_ERROR(Check(LimitSystemCalls(), "seccomp"));
  return server.Serve();
}

}  // namespace
}  // namespace sandkeep

int main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "--version") {
    std::puts("sandkeep-files " SANDKEEP_VERSION);
    return 0;
  }
  const absl::Status ended = sandkeep::Run();
  if (ended.ok()) return 0;
  sandkeep::Log(sandkeep::Severity::kError, "files.failed", {{"why", ended}});
  return 1;
}
