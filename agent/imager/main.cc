// sandkeep-imager MAX_PX MAX_BYTES: reads the file of one picture from standard input, and writes
// what can be shown of it to standard output (rendered_image.h). Started by the agent for each
// picture; it has no settings, opens no file and ends with its work. Why it refused one is for the
// log.

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>

#include "absl/strings/numbers.h"
#include "agent/imager/lockdown.h"
#include "agent/imager/render.h"
#include "common/limits.h"
#include "common/status_codes.h"
#include "common/status_macros.h"
#include "common/strings.h"

namespace sandkeep {
namespace {

absl::StatusOr<std::string> ReadInput() {
  constexpr std::size_t kTurn = 1 << 20;
  std::string bytes;
  for (;;) {
    const std::size_t have = bytes.size();
    if (have > kMaxImageFileBytes) return absl::ResourceExhaustedError("too large a file");
    bytes.resize(have + kTurn);
    const ssize_t got = ::read(STDIN_FILENO, bytes.data() + have, kTurn);
    if (got < 0 && errno != EINTR) return ErrnoStatus(errno, "read");
    bytes.resize(have + static_cast<std::size_t>(got < 0 ? 0 : got));
    if (got == 0) return bytes;
  }
}

absl::Status WriteOutput(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(STDOUT_FILENO, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return ErrnoStatus(errno, "write");
    bytes.remove_prefix(static_cast<std::size_t>(put));
  }
  return absl::OkStatus();
}

absl::StatusOr<ImageBounds> BoundsFrom(int argc, char** argv) {
  ImageBounds bounds;
  if (argc != 3 || !absl::SimpleAtoi(argv[1], &bounds.max_px) ||
      !absl::SimpleAtoi(argv[2], &bounds.max_bytes) || bounds.max_px < 1 || bounds.max_bytes < 1) {
    return absl::InternalError("usage: sandkeep-imager MAX_PX MAX_BYTES < file");
  }
  return bounds;
}

absl::Status Run(int argc, char** argv) {
  ASSIGN_OR_RETURN(const ImageBounds bounds, BoundsFrom(argc, argv));
  if (const int error = GiveUpAll(); error != 0) {
    return absl::InternalError(StrCat("giving up rights: error ", error));
  }
  ASSIGN_OR_RETURN(const std::string file, ReadInput());
  ASSIGN_OR_RETURN(const RenderedImage image, Render(file, bounds));
  return WriteOutput(Pack(image));
}

absl::Status RunGuarded(int argc, char** argv) {
  try {
    return Run(argc, argv);
  } catch (const std::exception& error) {
    return absl::ResourceExhaustedError(error.what());
  }
}

int ExitCodeOf(const absl::Status& status) {
  if (status.ok()) return kImagerDone;
  if (absl::IsInvalidArgument(status)) return kImagerDamaged;
  return absl::IsResourceExhausted(status) ? kImagerTooLarge : kImagerFailed;
}

}  // namespace
}  // namespace sandkeep

int main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "--version") {
    std::puts("sandkeep-imager " SANDKEEP_VERSION);
    return 0;
  }
  const absl::Status ended = sandkeep::RunGuarded(argc, argv);
  if (!ended.ok()) {
    const std::string line = sandkeep::StrCat(sandkeep::ToStd(ended.message()), "\n");
    [[maybe_unused]] const ssize_t told = ::write(STDERR_FILENO, line.data(), line.size());
  }
  return sandkeep::ExitCodeOf(ended);
}
