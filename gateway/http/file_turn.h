// One turn of sending a file's bytes to a socket without reading them: sendfile, until the socket
// is full, the turn's bytes are out, or the file ends. May wait for the disk, never for the client.
// The process ignores SIGPIPE. Any thread.
#pragma once

#include <cstdint>

namespace sandkeep::http {

struct FileTurn {
  std::int64_t sent = 0;
  bool full = false;    // The socket takes no more for now.
  bool ended = false;   // The file has no more, or its disk fails.
  bool failed = false;  // The client is gone.
};

FileTurn SendFileTurn(int socket, int file, std::int64_t offset, std::int64_t length);

}  // namespace sandkeep::http
