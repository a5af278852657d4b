// What one stream of a job printed: one sparse file, spliced at its end. The file's size is the
// number of bytes taken from the pipe and so the offset of the next one: there is no counter that a
// kill -9 could lose.
//
// Of more than the limit, the head and the tail are kept. What lies between is dropped by punching
// holes; the dropped range is computed from limit and size alone, so it is exact, and the same
// after a restart.
//
// Spool belongs to the sandbox's strand; SpoolReader's blocking read may run on any one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "common/unique_fd.h"

namespace sandkeep {

struct ByteRange {
  std::int64_t from = 0;
  std::int64_t to = 0;
  std::int64_t size() const { return to - from; }
  bool Holds(std::int64_t offset) const { return from <= offset && offset < to; }
};

// Which bytes of how many are kept.
class SpoolWindow {
 public:
  // Bytes. Under four times kSpoolHeadBytes the head is a quarter.
  explicit SpoolWindow(std::int64_t limit);

  ByteRange Dropped(std::int64_t size) const;

 private:
  std::int64_t head_;
  std::int64_t tail_;
};

class Spool {
 public:
  // kFew: less than a page at once, from a slow writer, perhaps more by now.
  enum class After { kMore, kFew, kEmpty, kEnd };
  struct Taken {
    std::int64_t bytes = 0;
    After after = After::kMore;
  };

  Spool(std::string path, SpoolWindow window) : path_(std::move(path)), window_(window) {}

  // Goes on where the file ends, if there is one: after a restart.
  absl::Status Resume();

  // Moves at most `limit` bytes from the pipe to the file's end, in the kernel, and stops when
  // there are few: who goes on taking single bytes as they are written does nothing else. The file
  // is made by the first byte. On an error (ResourceExhausted: the disk is full) what wasn't moved
  // is still in the pipe; `taken` is what was.
  absl::Status Take(const UniqueFd& pipe, std::int64_t limit, Taken* taken);

  // Keeps less from now on, of what is there too: of the first `known` bytes, which readers know
  // of.
  void Narrow(SpoolWindow window, std::int64_t known);

  void Close() { file_.Reset(); }
  std::int64_t size() const { return size_; }

 private:
  absl::Status Open(int flags);
  void Drop(std::int64_t size);

  std::string path_;
  SpoolWindow window_;
  UniqueFd file_;
  std::int64_t size_ = 0;
  std::int64_t dropped_to_ = 0;
};

class SpoolReader {
 public:
  explicit SpoolReader(std::string path) : path_(std::move(path)) {}

  // What is in memory already; nullopt: it would wait for the disk. At most `limit` bytes, fewer
  // only at the file's end. NotFound: the file is gone.
  absl::StatusOr<std::optional<std::string>> ReadNow(std::int64_t offset, std::int64_t limit);
  absl::StatusOr<std::string> ReadBlocking(std::int64_t offset, std::int64_t limit) const;

 private:
  std::string path_;
  UniqueFd file_;
};

// On any thread: nothing of it waits for a disk, not even to find the file. nullopt: it isn't all
// in memory, or isn't there.
std::optional<std::string> ReadIfCached(const std::string& path, std::int64_t offset,
                                        std::int64_t bytes);

// The size of a spool that nobody splices into; 0: there is none.
std::int64_t SpoolSize(const std::string& path);

}  // namespace sandkeep
