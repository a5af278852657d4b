// The agent's own room on its disk: a file in the state folder that holds it and that nobody reads.
// When the disk is full, whoever filled it, a slice of it is set free at each look, so that output
// and records go on being written; when there is room again it is held again. What is set free goes
// to whoever writes first; sandboxes' commands that grow were paused long before
// (SANDBOX_MIN_FREE). The log of records doesn't wait for a look: agent/store/sqlite_store holds
// its own room.
//
// Looks wait for the disk, on a thread of their own.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/thread_pool.hpp>
#include <chrono>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/limits.h"
#include "common/unique_fd.h"

namespace sandkeep {

class Reserve {
 public:
  // Holds what there is room for. Unimplemented: this file system can't hold room.
  // Of what must stay free for others, `floor`, it takes nothing.
  static absl::StatusOr<Reserve> Open(const std::string& state_dir, std::int64_t floor = 0);

  // Sets free or takes, as the disk is now.
  absl::Status Look();

  std::int64_t held() const { return held_; }
  std::int64_t whole() const { return whole_; }

 private:
  Reserve(UniqueFd file, std::int64_t whole, std::int64_t held)
      : file_(std::move(file)), whole_(whole), held_(held) {}
  absl::Status Hold(std::int64_t bytes);
  absl::Status SetFree(std::int64_t bytes);

  UniqueFd file_;
  std::int64_t whole_;
  std::int64_t held_;
  std::int64_t floor_ = 0;
};

// Looks every kReserveInterval as long as it lives. Without a reserve the agent runs all the same.
class ReserveKeeper {
 public:
  ReserveKeeper(const std::string& state_dir, std::int64_t floor);
  ~ReserveKeeper();

 private:
  static boost::asio::awaitable<void> Keep(Reserve reserve);

  boost::asio::thread_pool thread_{1};
};

}  // namespace sandkeep
