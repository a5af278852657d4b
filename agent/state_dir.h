// The agent's own folder: locked by one process at a time, with the small files that are made
// once, at first start, and never change: the secret of the keys, the instance's id, the engine's
// run root.
//
// The folder itself may be passable for others (podman makes it so on the way to its storage); each
// file in it is the owner's alone.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "common/ids.h"
#include "common/limits.h"
#include "common/random.h"
#include "common/secret.h"
#include "common/unique_fd.h"

namespace sandkeep {

class StateDir {
 public:
  // Makes the folder if it isn't there and takes its lock, which lasts as long as this object.
  // FailedPrecondition: another agent has it, or the folder isn't ours; the message has the remedy.
  static absl::StatusOr<StateDir> Open(std::string path);

  const std::string& path() const { return path_; }

  // `<path>/instance`: 32 hexadecimal digits and a newline.
  absl::StatusOr<InstanceId> Instance(Random& random) const;

 private:
  StateDir(std::string path, UniqueFd lock) : path_(std::move(path)), lock_(std::move(lock)) {}
  std::string path_;
  UniqueFd lock_;
};

// The content of a small file that is made once, by `fresh`, so that it is there whole or not at
// all, even after a power cut; no more than `most` bytes are read. FailedPrecondition: it is not a
// regular file of ours that nobody else can read.
absl::StatusOr<std::string> ReadOrMake(const std::string& path, std::string_view fresh,
                                       std::size_t most = kMaxMadeOnceBytes);

// `<state_dir>/secret`: 32 bytes. DataLoss: the file has another size.
absl::StatusOr<Secret> KeySecret(const std::string& state_dir, Random& random);

// `<state_dir>/principal-disk`: what one principal may use of the disk where nobody has set it:
// half of what was free at first start (`free`), however little is free at a later one. DataLoss:
// no number.
absl::StatusOr<std::int64_t> FirstPrincipalDisk(const std::string& state_dir, std::int64_t free);

// `<state_dir>/run-root`: the engine's XDG_RUNTIME_DIR of the first start. FailedPrecondition: it
// is another one now, in which the engine would find nothing of what runs, or it can't be used; the
// message has the remedy.
absl::Status CheckRunRoot(const std::string& state_dir, const std::string& run_root);

// Makes a folder of ours, mode 0700. Ok when it is there.
absl::Status MakeFolder(const std::string& path);

}  // namespace sandkeep
