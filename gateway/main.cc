// sandkeep-gateway: reads what the internet sends, and holds no privilege worth stealing.
#include <sys/stat.h>

#include <csignal>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "absl/flags/parse.h"
#include "common/clock.h"
#include "common/command_line.h"
#include "common/random.h"
#include "common/settings.h"
#include "gateway/gateway.h"
#include "gateway/keys/command.h"
#include "gateway/settings.h"

#define SANDKEEP_FLAGS_OF_gateway 1
#include "common/settings_flags.inc"

ABSL_FLAG(std::string, env_file, "",
          "File of settings (unset: /etc/sandkeep/gateway.env, if there is one)");

namespace sandkeep {
namespace {

constexpr Program kProgram = {
    .process = Process::kGateway,
    .name = "sandkeep-gateway",
    .usage = "[serve] [--SETTING=VALUE…]\nkeys add NAME | list | remove NAME\n--version | --help",
    .default_env_file = "/etc/sandkeep/gateway.env"};

int RunServe(const Settings& settings) {
  LogWarnings(settings.warnings());
  absl::StatusOr<GatewaySettings> gateway = GatewaySettings::From(settings);
  if (!gateway.ok()) return Complain(kProgram, gateway.status(), kUsage);
  return Complain(kProgram, Serve(*std::move(gateway)), kFailed);
}

int Main(int argc, char** argv) {
  ::umask(0077);
  std::signal(SIGPIPE, SIG_IGN);
  if (AnswerPlainQuestion(kProgram, argc, argv)) return 0;
  const std::vector<char*> positional = absl::ParseCommandLine(argc, argv);
  std::vector<std::string> arguments(positional.begin() + 1, positional.end());
  const std::string command = arguments.empty() ? "serve" : arguments.front();
  if ((command != "serve" && command != "keys") || (command == "serve" && arguments.size() > 1)) {
    return Complain(kProgram, absl::InvalidArgumentError("unknown command; --help has them"),
                    kUsage);
  }
  const absl::StatusOr<Settings> settings =
      LoadSettings(kProgram, absl::GetFlag(FLAGS_env_file), FlagsGiven());
  if (!settings.ok()) return Complain(kProgram, settings.status(), kUsage);
  if (command == "serve") return RunServe(*settings);
  arguments.erase(arguments.begin());
  return RunKeysCommand(StateDirOf(*settings), arguments, SystemRandom(), SystemClock(), std::cout,
                        std::cerr);
}

}  // namespace
}  // namespace sandkeep

int main(int argc, char** argv) { return sandkeep::Main(argc, argv); }
