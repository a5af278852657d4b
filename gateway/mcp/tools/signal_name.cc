#include "gateway/mcp/tools/signal_name.h"

#include <array>
#include <csignal>

#include "absl/strings/ascii.h"
#include "common/strings.h"

namespace sandkeep::mcp {
namespace {

struct Known {
  std::string_view name;
  int number;
};

// Those that mean something to a command; no other has a use here.
constexpr std::array<Known, 12> kSignals = {{{"TERM", SIGTERM},
                                             {"KILL", SIGKILL},
                                             {"INT", SIGINT},
                                             {"HUP", SIGHUP},
                                             {"QUIT", SIGQUIT},
                                             {"USR1", SIGUSR1},
                                             {"USR2", SIGUSR2},
                                             {"STOP", SIGSTOP},
                                             {"CONT", SIGCONT},
                                             {"ALRM", SIGALRM},
                                             {"ABRT", SIGABRT},
                                             {"WINCH", SIGWINCH}}};

}  // namespace

std::optional<int> SignalOf(std::string_view name) {
  const std::string upper = absl::AsciiStrToUpper(ToAbsl(name));
  std::string_view bare = upper;
  if (bare.substr(0, 3) == "SIG") bare.remove_prefix(3);
  for (const Known& known : kSignals) {
    if (bare == known.name || bare == StrCat(known.number)) return known.number;
  }
  return std::nullopt;
}

std::string KnownSignals() {
  std::string names;
  for (const Known& known : kSignals) StrAppend(&names, names.empty() ? "" : ", ", known.name);
  return names;
}

}  // namespace sandkeep::mcp
