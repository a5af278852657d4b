// sandkeep-agent: holds the privilege, and never sees attacker-made grammar.
#include <sys/stat.h>

#include <csignal>
#include <string>
#include <string_view>

#include "absl/flags/parse.h"
#include "agent/agent.h"
#include "agent/settings.h"
#include "common/command_line.h"
#include "common/settings.h"

#define SANDKEEP_FLAGS_OF_agent 1
#include "common/settings_flags.inc"

ABSL_FLAG(std::string, env_file, "",
          "File of settings (unset: /etc/sandkeep/agent.env, if there is one)");

namespace sandkeep {
namespace {

constexpr Program kProgram = {.process = Process::kAgent,
                              .name = "sandkeep-agent",
                              .usage = "[--SETTING=VALUE…]\n--version | --help",
                              .default_env_file = "/etc/sandkeep/agent.env"};

int Main(int argc, char** argv) {
  ::umask(0077);
  std::signal(SIGPIPE, SIG_IGN);
  if (AnswerPlainQuestion(kProgram, argc, argv)) return 0;
  if (absl::ParseCommandLine(argc, argv).size() > 1) {
    return Complain(kProgram, absl::InvalidArgumentError("takes settings only; --help has them"),
                    kUsage);
  }
  const absl::StatusOr<Settings> settings =
      LoadSettings(kProgram, absl::GetFlag(FLAGS_env_file), FlagsGiven(),
                   [](const Settings& read) { return AgentSettings::From(read).status(); });
  if (!settings.ok()) return Complain(kProgram, settings.status(), kUsage);
  const absl::StatusOr<AgentSettings> agent = AgentSettings::From(*settings);
  if (!agent.ok()) return Complain(kProgram, agent.status(), kUsage);
  LogWarnings(settings->warnings());
  const absl::Status ended = RunAgent(*agent);
  return ended.ok() ? 0 : Complain(kProgram, ended, kFailed);
}

}  // namespace
}  // namespace sandkeep

int main(int argc, char** argv) { return sandkeep::Main(argc, argv); }
