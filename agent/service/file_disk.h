// Reads and writes ranges of a sandbox's file on threads that may wait for the disk. Thread-safe;
// calls resume on the caller's executor. A descriptor stays open until the call with it is over,
// whoever has left meanwhile.
#pragma once

#include <boost/asio/thread_pool.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "common/async.h"
#include "common/unique_fd.h"

namespace sandkeep {

class FileDisk {
 public:
  using File = std::shared_ptr<const UniqueFd>;

  FileDisk();
  // Waits for calls under way.
  ~FileDisk();

  // `size` bytes at `offset`, at most kMaxFileChunk. DataLoss: the file ends before.
  Async<std::string> Read(File file, std::int64_t offset, std::size_t size);

  // Room for `size` bytes from the file's start, whose size stays. ResourceExhausted: there is
  // none.
  Async<void> Reserve(File file, std::int64_t size);
  Async<void> Write(File file, std::int64_t offset, std::string data);
  // The first `size` bytes of `from` to the same place in `to`. DataLoss: it ends before.
  Async<void> Copy(File from, File to, std::int64_t size);
  // On the disk, a folder's entries or a file's bytes.
  Async<void> Flush(File file);

 private:
  static Async<void> Do(boost::asio::thread_pool& threads, std::function<absl::Status()> work);

  boost::asio::thread_pool threads_;
  boost::asio::thread_pool flushing_;  // Whose disk is slow keeps only those that write to it.
};

}  // namespace sandkeep
