// What the command lines of both processes have in common: --help and --version, where settings
// come from, and how they complain. For their main.cc, before the first thread.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/settings.h"

namespace sandkeep {

// Exit codes: it couldn't go on; the command line or the settings are wrong.
inline constexpr int kFailed = 1;
inline constexpr int kUsage = 2;

struct Program {
  Process process;
  std::string_view name;
  std::string_view usage;             // Lines, without the name.
  std::string_view default_env_file;  // Read if it exists and --env_file isn't given.
};

// True: --help or --version was asked for and is answered on standard output, without reading any
// setting.
bool AnswerPlainQuestion(const Program& program, int argc, char** argv);

// From the env file, the environment and `flags` (settings_flags.inc). InvalidArgument: every
// mistake, those that `check` finds too, a line each.
absl::StatusOr<Settings> LoadSettings(const Program& program, std::string env_file,
                                      std::vector<std::pair<std::string, std::string>> flags,
                                      std::function<absl::Status(const Settings&)> check);

// A line in the log for each.
void LogWarnings(const std::vector<std::string>& warnings);

// `name: message` on standard error, and `code` again.
int Complain(const Program& program, const absl::Status& status, int code);

}  // namespace sandkeep
