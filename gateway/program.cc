#include "gateway/program.h"

#include <sys/stat.h>

#include <csignal>
#include <iostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "common/clock.h"
#include "common/command_line.h"
#include "common/random.h"
#include "common/settings.h"
#include "gateway/downloads/command.h"
#include "gateway/gateway.h"
#include "gateway/keys/command.h"
#include "gateway/sandbox_count.h"
#include "gateway/settings.h"

#define SANDKEEP_FLAGS_OF_gateway 1
#include "common/settings_flags.inc"

ABSL_FLAG(std::string, env_file, "",
          "File of settings (unset: /etc/sandkeep/gateway.env, if there is one)");

ABSL_FLAG(absl::optional<std::string>, device, absl::nullopt, "keys: which of the name's keys");
ABSL_FLAG(bool, adopt, false, "keys add: the name was removed, and is to be who it was");
ABSL_FLAG(absl::optional<absl::Duration>, overlap, absl::nullopt,
          "rotate: how long the old key is good yet, as 24h");
ABSL_FLAG(bool, now, false, "rotate: the old key ends at once");

namespace sandkeep {
namespace {

constexpr Program kProgram = {.process = Process::kGateway,
                              .name = "sandkeep-gateway",
                              .usage =
                                  "[serve] [--SETTING=VALUE…]\n"
                                  "keys add NAME [--device=DEVICE] [--adopt] | list |\n"
                                  "     rotate NAME [--device=DEVICE] [--overlap=24h | --now] |\n"
                                  "     remove NAME [--device=DEVICE]\n"
                                  "links rotate [--overlap=24h | --now] | revoke LINK | NAME\n"
                                  "--version | --help",
                              .default_env_file = "/etc/sandkeep/gateway.env"};

KeysArguments KeysArgumentsFrom(std::vector<std::string> words) {
  KeysArguments arguments{.words = std::move(words)};
  if (const auto device = absl::GetFlag(FLAGS_device); device.has_value()) {
    arguments.device = *device;
  }
  if (const auto overlap = absl::GetFlag(FLAGS_overlap); overlap.has_value()) {
    arguments.overlap = *overlap;
  }
  arguments.adopt = absl::GetFlag(FLAGS_adopt);
  arguments.now = absl::GetFlag(FLAGS_now);
  return arguments;
}

int RunKeys(const Settings& settings, std::vector<std::string> words) {
  auto count = [socket = settings.Text("AGENT_SOCKET")](const std::string& principal) {
    return CountSandboxes(socket, principal);
  };
  KeysCommand command({.state_dir = StateDirOf(settings),
                       .count_sandboxes = std::move(count),
                       .random = SystemRandom(),
                       .clock = SystemClock(),
                       .out = std::cout,
                       .err = std::cerr});
  return command.Run(KeysArgumentsFrom(std::move(words)));
}

int RunLinks(const Settings& settings, std::vector<std::string> words) {
  LinksCommand command({.state_dir = StateDirOf(settings),
                        .random = SystemRandom(),
                        .clock = SystemClock(),
                        .err = std::cerr});
  LinksArguments arguments{.words = std::move(words), .now = absl::GetFlag(FLAGS_now)};
  if (const auto overlap = absl::GetFlag(FLAGS_overlap); overlap.has_value()) {
    arguments.overlap = *overlap;
  }
  return command.Run(arguments);
}

int RunServe(const Settings& settings, mcp::Registry registry) {
  LogWarnings(settings.warnings());
  absl::StatusOr<GatewaySettings> gateway = GatewaySettings::From(settings);
  if (!gateway.ok()) return Complain(kProgram, gateway.status(), kUsage);
  return Complain(kProgram, Serve(*std::move(gateway), std::move(registry)), kFailed);
}

}  // namespace

int RunGateway(int argc, char** argv, mcp::Registry registry) {
  ::umask(0077);
  std::signal(SIGPIPE, SIG_IGN);
  if (AnswerPlainQuestion(kProgram, argc, argv)) return 0;
  const std::vector<char*> positional = absl::ParseCommandLine(argc, argv);
  std::vector<std::string> arguments(positional.begin() + 1, positional.end());
  const std::string command = arguments.empty() ? "serve" : arguments.front();
  const bool known = command == "serve" || command == "keys" || command == "links";
  if (!known || (command == "serve" && arguments.size() > 1)) {
    return Complain(kProgram, absl::InvalidArgumentError("unknown command; --help has them"),
                    kUsage);
  }
  // Who manages keys needs no address that can be listened at.
  const auto check = [&command](const Settings& read) {
    return command == "serve" ? GatewaySettings::From(read).status() : absl::OkStatus();
  };
  const absl::StatusOr<Settings> settings =
      LoadSettings(kProgram, absl::GetFlag(FLAGS_env_file), FlagsGiven(), check);
  if (!settings.ok()) return Complain(kProgram, settings.status(), kUsage);
  if (command == "serve") return RunServe(*settings, std::move(registry));
  arguments.erase(arguments.begin());
  return command == "keys" ? RunKeys(*settings, std::move(arguments))
                           : RunLinks(*settings, std::move(arguments));
}

}  // namespace sandkeep
