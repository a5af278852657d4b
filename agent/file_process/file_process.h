// The agent's handle on sandkeep-files, the process that opens, makes and removes files below
// volumes in the sandboxes' user namespace. It is started on first use and again if it dies;
// volumes are handed over again by themselves. Thread-safe; calls resume on the caller's executor.
//
// Errors: NotFound, InvalidArgument (a symlink in the way, leaves the workspace, not a regular file
// or folder: the message says which), PermissionDenied, ResourceExhausted, Unavailable (the process
// died; the next call starts another).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/async.h"
#include "common/ids.h"
#include "common/rel_path.h"
#include "common/unique_fd.h"

namespace sandkeep {

struct FileEntry {
  std::string path;
  mode_t mode = 0;
  std::int64_t size = 0;
  absl::Time modified;
  std::int64_t changed_ns = 0;
  std::uint64_t device = 0;
  std::uint64_t inode = 0;

  bool regular() const { return (mode & 0170000) == 0100000; }
  bool directory() const { return (mode & 0170000) == 0040000; }
  // Device, inode, size and ctime, hashed: 22 characters of base64url. ctime can't be set from
  // inside.
  std::string Etag() const;
};

struct OpenedFile {
  FileEntry entry;
  UniqueFd file;  // Read-only, a regular file.
};

// A file, or a folder with all in it.
struct MeasuredTree {
  std::int64_t bytes = 0;  // Of the disk.
  std::int64_t inodes = 0;
  // The newest change of anything in it: ctime, or mtime unless that was set to the future.
  absl::Time newest;
  // Why the figures are too small and `newest` may be too old; empty: all of it was looked at.
  std::string missing;
};

// What must be true of the target when a written file takes its place.
struct TakeTerms {
  bool must_be_new = false;           // AlreadyExists otherwise.
  std::optional<FileEntry> expected;  // Aborted if it is another one.
  std::int64_t size = -1;             // Aborted if the file itself isn't of this size; -1: any.
};

// A file that has taken its place, and its folder, which is to be flushed.
struct TakenFile {
  FileEntry entry;
  UniqueFd folder;
};

// A file that is being written beside its target; Commit puts it there. Destroyed without it, a
// part stays for the next Create, until Delete of its own path (common/part_name.h); any other is
// gone. Any thread.
class PendingFile {
 public:
  virtual ~PendingFile() = default;
  virtual const UniqueFd& file() const = 0;                    // To write; a regular file.
  virtual std::int64_t received() const = 0;                   // What a part has already.
  virtual const std::optional<FileEntry>& target() const = 0;  // Absent: nothing is there.
  // Once. Flush the bytes before.
  virtual Async<TakenFile> Commit(TakeTerms terms) = 0;
};

class FileProcess {
 public:
  virtual ~FileProcess() = default;

  virtual Async<FileEntry> Stat(EngineName volume, RelPath path) = 0;
  virtual Async<OpenedFile> Open(EngineName volume, RelPath path) = 0;
  // At most `limit` entries, by name; symlinks and other kinds are shown, not followed.
  virtual Async<std::vector<FileEntry>> List(EngineName volume, RelPath path, int limit) = 0;
  // `part`: 16 bytes that name what is written in several goes, or empty.
  virtual Async<std::unique_ptr<PendingFile>> Create(EngineName volume, RelPath path,
                                                     bool make_parents, std::string part) = 0;
  // How many went. A folder only if `recursive`; a symlink goes itself.
  virtual Async<std::int64_t> Delete(EngineName volume, RelPath path, bool recursive) = 0;
  // The same of anything in which nothing changed since then. Unavailable: something did; what
  // hadn't may be gone by then.
  virtual Async<std::int64_t> DeleteUnchanged(EngineName volume, RelPath path,
                                              absl::Time since) = 0;
  // In turns, so that it keeps nobody waiting; given up when `patience` is over.
  virtual Async<MeasuredTree> Measure(EngineName volume, RelPath path, absl::Duration patience) = 0;
  // The volume is gone.
  virtual void Drop(const EngineName& volume) = 0;
};

struct FileProcessOptions {
  std::string program;  // sandkeep-files on this host.
  std::string newuidmap = "/usr/bin/newuidmap";
  std::string newgidmap = "/usr/bin/newgidmap";
  std::string subuid_file = "/etc/subuid";
  std::string subgid_file = "/etc/subgid";
};

// Gives the O_PATH descriptor of a volume's data, or of a container's layer for Measure, whenever
// the process must be told of it (again).
using VolumeOpener = std::function<Async<UniqueFd>(EngineName volume)>;

// Outlives its calls, and `opener` outlives it.
std::unique_ptr<FileProcess> MakeFileProcess(const boost::asio::any_io_executor& executor,
                                             FileProcessOptions options, VolumeOpener opener);

}  // namespace sandkeep
