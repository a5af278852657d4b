#include "agent/init_link/frames.h"

#include <cerrno>
#include <string_view>
#include <utility>

#include "common/limits.h"
#include "common/status_macros.h"
#include "common/strings.h"
#include "common/utf8.h"

namespace sandkeep {
namespace {

using init::v1::ToInit;

bool IsVariableName(std::string_view name) {
  return !name.empty() && IsUtf8(name) &&
         name.find_first_of(std::string_view("=\0", 2)) == std::string_view::npos;
}

absl::Status Check(const InitStart& start) {
  if (start.command.size() > kMaxCommandBytes) {
    return absl::InvalidArgumentError(StrCat("a command of ", start.command.size(),
                                             " bytes: at most ", kMaxCommandBytes,
                                             "; write a script file and run that"));
  }
  if (start.command.find('\0') != std::string::npos) {
    return absl::InvalidArgumentError("a command can't hold a NUL byte");
  }
  if (start.cwd.size() > kMaxPathBytes || start.cwd.find('\0') != std::string::npos) {
    return absl::InvalidArgumentError("cwd is no path");
  }
  for (const auto& [name, value] : start.env) {
    if (!IsVariableName(name) || value.find('\0') != std::string::npos) {
      return absl::InvalidArgumentError("env holds what no environment can hold");
    }
  }
  const bool outputs = start.stdout_write && start.stdout_read &&
                       start.stderr_write.valid() != start.merge_streams &&
                       start.stderr_read.valid() != start.merge_streams;
  const bool input = start.stdin_read.valid() || !start.stdin_write.valid();
  if (!outputs || !input) return absl::InvalidArgumentError("pipes don't go together");
  return absl::OkStatus();
}

ToInit StartMessage(const InitStart& start) {
  ToInit message;
  init::v1::Start& body = *message.mutable_start();
  body.set_job_id(start.id.bytes());
  body.set_command_bytes(static_cast<std::uint32_t>(start.command.size()));
  body.set_cwd(start.cwd);
  for (const auto& [name, value] : start.env) {
    init::v1::Variable& variable = *body.add_env();
    variable.set_name(name);
    variable.set_value(value);
  }
  body.set_merge_streams(start.merge_streams);
  body.set_stdin_pipe(start.stdin_read.valid());
  return message;
}

// One frame, and so one wake-up of init, for all but a few commands.
bool TakesWholeCommand(ToInit& message, const std::string& command) {
  if (command.size() > kMaxInitFrameBytes) return false;
  message.mutable_start()->set_command(command);
  if (message.ByteSizeLong() <= kMaxInitFrameBytes) return true;
  message.mutable_start()->clear_command();
  return false;
}

// In the order that the protocol names.
std::vector<UniqueFd> Descriptors(InitStart& start) {
  std::vector<UniqueFd> descriptors;
  for (UniqueFd* fd : {&start.stdout_write, &start.stderr_write, &start.stdout_read,
                       &start.stderr_read, &start.stdin_read, &start.stdin_write}) {
    if (fd->valid()) descriptors.push_back(std::move(*fd));
  }
  return descriptors;
}

OutFrame CommandFrame(const JobId& id, std::string_view part) {
  ToInit message;
  message.mutable_command()->set_job_id(id.bytes());
  message.mutable_command()->set_data(part.data(), part.size());
  return {message.SerializeAsString(), {}};
}

}  // namespace

absl::StatusOr<std::vector<OutFrame>> StartFrames(InitStart start) {
  RETURN_IF_ERROR(Check(start));
  std::vector<OutFrame> frames;
  ToInit message = StartMessage(start);
  const bool whole = TakesWholeCommand(message, start.command);
  OutFrame first;
  first.bytes = message.SerializeAsString();
  if (first.bytes.size() > kMaxInitFrameBytes) {
    return absl::InvalidArgumentError(StrCat("env and cwd together take ", first.bytes.size(),
                                             " bytes: at most ", kMaxInitFrameBytes,
                                             "; put long values into a file"));
  }
  first.descriptors = Descriptors(start);
  frames.push_back(std::move(first));
  if (whole) return frames;

  std::string_view rest = start.command;
  while (!rest.empty()) {
    const std::string_view part = rest.substr(0, kMaxCommandPartBytes);
    frames.push_back(CommandFrame(start.id, part));
    rest.remove_prefix(part.size());
  }

  ToInit run;
  run.mutable_run()->set_job_id(start.id.bytes());
  frames.push_back({run.SerializeAsString(), {}});
  return frames;
}

std::vector<OutFrame> StandbyFrames(InitStandby shell) {
  ToInit message;
  init::v1::Start& body = *message.mutable_start();
  body.set_job_id(shell.id.bytes());
  body.set_merge_streams(true);
  body.set_standby(true);
  std::vector<OutFrame> frames = OneFrame(message);
  for (UniqueFd* fd : {&shell.stdout_write, &shell.stdout_read, &shell.text, &shell.ready}) {
    frames.front().descriptors.push_back(std::move(*fd));
  }
  return frames;
}

absl::Status RefusalStatus(const init::v1::Refused& refused) {
  using init::v1::Refused;
  switch (refused.reason()) {
    case Refused::TOO_MANY_JOBS:
      return absl::ResourceExhaustedError(
          "too many commands run or left processes behind in this sandbox: end some of them");
    case Refused::CANNOT_FORK:
      if (refused.error() != EAGAIN && refused.error() != ENOMEM) break;
      return absl::ResourceExhaustedError(
          "no process can be started: the sandbox's limit of processes or memory is reached; end "
          "some of what runs in it");
    case Refused::BAD_CWD:
      return absl::InvalidArgumentError("the working directory doesn't exist or can't be entered");
    case Refused::NO_SHELL:
      return absl::InternalError("/bin/bash can't be run in this sandbox any more");
    default:
      break;
  }
  return absl::InternalError(
      StrCat("init refused the command: ", Refused::Reason_Name(refused.reason()), ", errno ",
             refused.error()));
}

std::vector<OutFrame> OneFrame(const ToInit& message) {
  std::vector<OutFrame> frames;
  frames.push_back({message.SerializeAsString(), {}});
  return frames;
}

}  // namespace sandkeep
