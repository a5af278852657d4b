// What a descriptor that somebody else opened leads to, as we see it ourselves. Any thread.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <string>

#include "common/unique_fd.h"

namespace sandkeep {

// How it was opened (O_RDONLY, O_WRONLY), and its kind (S_IFREG, S_IFDIR).
bool IsOpenedAs(const UniqueFd& fd, int access, mode_t kind);

// Names a file's content as it is: device, inode, size and ctime, hashed; 22 characters of
// base64url. ctime can't be set from inside a sandbox.
std::string FileEtag(std::uint64_t device, std::uint64_t inode, std::int64_t size,
                     std::int64_t changed_ns);
std::string FileEtag(const struct stat& info);

}  // namespace sandkeep
