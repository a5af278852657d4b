// sandkeep-gateway: reads what the internet sends, and holds no privilege worth stealing.
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "absl/flags/parse.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/random.h"
#include "common/settings.h"
#include "common/strings.h"
#include "gateway/gateway.h"
#include "gateway/keys/command.h"
#include "gateway/settings.h"

#define SANDKEEP_FLAGS_OF_gateway 1
#include "common/settings_flags.inc"

ABSL_FLAG(std::string, env_file, "",
          "File of settings (unset: /etc/sandkeep/gateway.env, if there is one)");

namespace sandkeep {
namespace {

constexpr int kFailed = 1;
constexpr int kUsage = 2;
constexpr const char* kDefaultEnvFile = "/etc/sandkeep/gateway.env";

void PrintHelp() {
  std::cout << "usage: sandkeep-gateway [serve] [--SETTING=VALUE…]\n"
               "       sandkeep-gateway keys add NAME | list | remove NAME\n"
               "       sandkeep-gateway --version | --help\n\n"
               "Settings, also as environment variables and in --env_file (default "
            << kDefaultEnvFile << "):\n";
  for (const SettingSpec& spec : SettingTable()) {
    if (spec.process == Process::kAgent) continue;
    std::cout << "  --" << spec.flag << "  " << spec.name;
    if (!spec.conversation_default.empty()) std::cout << " (" << spec.conversation_default << ")";
    std::cout << "\n      " << spec.meaning << "\n";
  }
}

// True: answered, without any setting.
bool AnswerPlainQuestion(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--") return false;
    if (argument == "--version") std::cout << "sandkeep-gateway " << SANDKEEP_VERSION << "\n";
    if (argument == "--help" || argument == "-h") PrintHelp();
    if (argument == "--version" || argument == "--help" || argument == "-h") return true;
  }
  return false;
}

absl::StatusOr<Settings> LoadSettings() {
  SettingSources sources{.process = Process::kGateway,
                         .env_file = absl::GetFlag(FLAGS_env_file),
                         .environment = EnvironmentOfProcess(),
                         .flags = FlagsGiven()};
  if (sources.env_file.empty() && ::access(kDefaultEnvFile, R_OK) == 0) {
    sources.env_file = kDefaultEnvFile;
  }
  return Settings::Load(sources);
}

int Complain(const absl::Status& status, int code) {
  std::cerr << "sandkeep-gateway: " << ToStd(status.message()) << "\n";
  return code;
}

int RunServe(const Settings& settings) {
  for (const std::string& warning : settings.warnings()) {
    Log(Severity::kWarning, "settings", {{"what", warning}});
  }
  absl::StatusOr<GatewaySettings> gateway = GatewaySettings::From(settings);
  if (!gateway.ok()) return Complain(gateway.status(), kUsage);
  return Complain(Serve(*std::move(gateway)), kFailed);
}

int Main(int argc, char** argv) {
  ::umask(0077);
  std::signal(SIGPIPE, SIG_IGN);
  if (AnswerPlainQuestion(argc, argv)) return 0;
  const std::vector<char*> positional = absl::ParseCommandLine(argc, argv);
  std::vector<std::string> arguments(positional.begin() + 1, positional.end());
  const std::string command = arguments.empty() ? "serve" : arguments.front();
  if ((command != "serve" && command != "keys") || (command == "serve" && arguments.size() > 1)) {
    return Complain(absl::InvalidArgumentError("unknown command; --help has them"), kUsage);
  }
  const absl::StatusOr<Settings> settings = LoadSettings();
  if (!settings.ok()) return Complain(settings.status(), kUsage);
  if (command == "serve") return RunServe(*settings);
  arguments.erase(arguments.begin());
  return RunKeysCommand(StateDirOf(*settings), arguments, SystemRandom(), SystemClock(), std::cout,
                        std::cerr);
}

}  // namespace
}  // namespace sandkeep

int main(int argc, char** argv) { return sandkeep::Main(argc, argv); }
