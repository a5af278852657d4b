// The text of a command, or of its input, on its way from the agent to the sandbox: in memory,
// never in an argument vector or an environment, which every user of the host may read. Sealed
// before anybody reads it.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "absl/status/status.h"
#include "common/unique_fd.h"

namespace sandkeep {

class SealedText {
 public:
  // More than `limit` is never taken. Nothing: `error` has the errno.
  static std::optional<SealedText> Create(std::size_t limit, int& error);

  // InvalidArgument: more than the limit.
  absl::Status Append(std::string_view part);

  // Nobody can change it any more.
  absl::Status Seal();

  std::size_t size() const { return written_; }

  // Read from its start by whoever gets it.
  int fd() const { return file_.get(); }

 private:
  SealedText(UniqueFd file, std::size_t limit) : file_(std::move(file)), limit_(limit) {}

  UniqueFd file_;
  std::size_t limit_;
  std::size_t written_ = 0;
};

}  // namespace sandkeep
