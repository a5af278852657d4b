// Reads ranges of a sandbox's file on threads that may wait for the disk. Thread-safe.
#pragma once

#include <boost/asio/thread_pool.hpp>
#include <cstdint>
#include <memory>
#include <string>

#include "common/async.h"
#include "common/unique_fd.h"

namespace sandkeep {

class FileReader {
 public:
  FileReader();
  // Waits for reads under way.
  ~FileReader();

  // `size` bytes at `offset`, at most kMaxFileChunk. DataLoss: the file ends before.
  Async<std::string> Read(std::shared_ptr<const UniqueFd> file, std::int64_t offset,
                          std::size_t size);

 private:
  boost::asio::thread_pool threads_;
};

}  // namespace sandkeep
