#include "agent/file_process/file_error.h"

#include <cerrno>
#include <string>

#include "common/status_codes.h"
#include "common/strings.h"
#include "common/utf8.h"

namespace sandkeep {

absl::Status FileError(int error, std::string_view path) {
  const std::string shown = path.empty() ? "the workspace" : StrCat("`", ToValidUtf8(path), "`");
  switch (error) {
    case ENOENT:
      return absl::NotFoundError(StrCat("there is no file ", shown));
    case ENOTDIR:
      return absl::NotFoundError(StrCat("a part of ", shown, " is not a folder"));
    case ELOOP:
      return absl::InvalidArgumentError(
          StrCat(shown, " is or goes through a symlink: name the file it points to"));
    case EXDEV:
      return absl::InvalidArgumentError(StrCat(shown, " leaves the workspace"));
    case EMEDIUMTYPE:
      return absl::InvalidArgumentError(StrCat(shown, " is not a regular file or folder"));
    case EISDIR:
      return absl::InvalidArgumentError(StrCat(shown, " is a folder"));
    case EEXIST:
      return absl::AlreadyExistsError(StrCat(shown, " exists already"));
    case ENOTEMPTY:
      return absl::UnavailableError(
          StrCat("something was written into ", shown, " while it was removed; try again"));
    case EMLINK:
      return absl::InvalidArgumentError(
          StrCat("folders nest too deeply in ", shown, ": remove it with a command"));
    case ENAMETOOLONG:
      return absl::InvalidArgumentError(StrCat(shown, " is too long"));
    case EBADF:
      return absl::UnavailableError("the workspace was let go meanwhile; try again");
    case ESTALE:
    case EAGAIN:
      return absl::UnavailableError(StrCat(shown, " was replaced while it was opened; try again"));
    default:
      return ErrnoStatus(error, shown);
  }
}

}  // namespace sandkeep
