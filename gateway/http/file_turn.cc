#include "gateway/http/file_turn.h"

#include <sys/sendfile.h>

#include <algorithm>
#include <cerrno>

#include "common/limits.h"

namespace sandkeep::http {

FileTurn SendFileTurn(int socket, int file, std::int64_t offset, std::int64_t length) {
  FileTurn turn;
  std::int64_t left = std::min(length, kFileTurnBytes);
  while (left > 0) {
    off_t at = offset + turn.sent;
    const ssize_t sent = ::sendfile(socket, file, &at, static_cast<std::size_t>(left));
    if (sent > 0) {
      turn.sent += sent;
      left -= sent;
      continue;
    }
    if (sent < 0 && errno == EINTR) continue;
    turn.ended = sent == 0 || errno == EIO;
    turn.full = !turn.ended && errno == EAGAIN;
    turn.failed = !turn.ended && !turn.full;
    break;
  }
  return turn;
}

}  // namespace sandkeep::http
