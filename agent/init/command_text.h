// The text of a command on its way from the agent to the shell: in memory, never in an argument
// vector or an environment, which every user of the host may read. Sealed before the shell sees it.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "absl/status/status.h"
#include "common/unique_fd.h"

namespace sandkeep::init {

class CommandText {
 public:
  // `size` is what the agent announced, at most kMaxCommandBytes; more is never taken. Nothing:
  // `error` has the errno.
  static std::optional<CommandText> Create(std::size_t size, int& error);

  // InvalidArgument: more than was announced.
  absl::Status Append(std::string_view part);

  // Nobody can change it any more. FailedPrecondition: less than was announced.
  absl::Status Seal();

  // Read from its start by whoever gets it.
  int fd() const { return file_.get(); }

 private:
  CommandText(UniqueFd file, std::size_t size) : file_(std::move(file)), size_(size) {}

  UniqueFd file_;
  std::size_t size_;
  std::size_t written_ = 0;
};

}  // namespace sandkeep::init
