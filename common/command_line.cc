#include "common/command_line.h"

#include <unistd.h>

#include <iostream>

#include "common/log.h"
#include "common/strings.h"

namespace sandkeep {
namespace {

void PrintHelp(const Program& program) {
  std::string_view lead = "usage: ";
  for (const std::string_view line : Split(program.usage, '\n')) {
    std::cout << lead << program.name << " " << line << "\n";
    lead = "       ";
  }
  std::cout << "\nSettings, also as environment variables and in --env_file (default "
            << program.default_env_file << "):\n";
  for (const SettingSpec& spec : SettingTable()) {
    if (spec.process != program.process && spec.process != Process::kBoth) continue;
    std::cout << "  --" << spec.flag << "  " << spec.name;
    if (!spec.conversation_default.empty()) std::cout << " (" << spec.conversation_default << ")";
    std::cout << "\n      " << spec.meaning << "\n";
  }
}

}  // namespace

bool AnswerPlainQuestion(const Program& program, int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--") return false;
    if (argument == "--version") {
      std::cout << program.name << " " << SANDKEEP_VERSION << "\n";
      return true;
    }
    if (argument == "--help" || argument == "-h") {
      PrintHelp(program);
      return true;
    }
  }
  return false;
}

absl::StatusOr<Settings> LoadSettings(const Program& program, std::string env_file,
                                      std::vector<std::pair<std::string, std::string>> flags,
                                      std::function<absl::Status(const Settings&)> check) {
  if (env_file.empty() && ::access(std::string(program.default_env_file).c_str(), F_OK) == 0) {
    env_file = program.default_env_file;
  }
  return Settings::Load({.process = program.process,
                         .env_file = std::move(env_file),
                         .environment = EnvironmentOfProcess(),
                         .flags = std::move(flags),
                         .check = std::move(check)});
}

void LogWarnings(const std::vector<std::string>& warnings) {
  for (const std::string& warning : warnings) {
    Log(Severity::kWarning, "settings", {{"what", warning}});
  }
}

int Complain(const Program& program, const absl::Status& status, int code) {
  std::cerr << program.name << ": " << ToStd(status.message()) << "\n";
  return code;
}

}  // namespace sandkeep
