// sandkeepctl: what an operator asks of the agent. One line on standard error and a non-zero exit
// when it can't be done: 1 the agent says no or isn't there, 2 the command line is wrong.
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "agent/ctl/commands.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/strings.h"

ABSL_FLAG(std::string, agent_socket, "",
          "The agent's socket (unset: AGENT_SOCKET, else /run/sandkeep/agent/agent.sock)");
ABSL_FLAG(bool, json, false, "Answer as JSON");
ABSL_FLAG(bool, dry_run, false, "With gc: only say what would be removed");
ABSL_FLAG(bool, files, false, "With rm: the files too");

namespace sandkeep {
namespace {

constexpr int kFailed = 1;
constexpr int kUsage = 2;
constexpr const char* kDefaultSocket = "/run/sandkeep/agent/agent.sock";

std::string SocketPath() {
  const std::string flag = absl::GetFlag(FLAGS_agent_socket);
  if (!flag.empty()) return flag;
  const char* const environment = std::getenv("AGENT_SOCKET");
  return environment != nullptr && *environment != '\0' ? environment : kDefaultSocket;
}

absl::StatusOr<std::string> Ask(const std::vector<std::string>& words) {
  absl::StatusOr<std::unique_ptr<AgentClient>> client = ConnectToAgent(SocketPath());
  if (!client.ok()) return client.status();
  const CtlOptions options{.json = absl::GetFlag(FLAGS_json),
                           .dry_run = absl::GetFlag(FLAGS_dry_run),
                           .files = absl::GetFlag(FLAGS_files)};
  boost::asio::io_context io;
  absl::StatusOr<std::string> result = absl::InternalError("no answer");
  auto finished = [&result](std::exception_ptr thrown, absl::StatusOr<std::string> answer) {
    if (!thrown) result = std::move(answer);
  };
  boost::asio::co_spawn(io, RunCtlCommand(**client, SystemClock(), options, words),
                        std::move(finished));
  io.run();
  return result;
}

int Complain(const absl::Status& status) {
  std::cerr << "sandkeepctl: " << ToStd(status.message()) << "\n";
  return absl::IsInvalidArgument(status) ? kUsage : kFailed;
}

// True: answered without the agent.
bool AnswerPlainQuestion(const std::vector<std::string>& arguments) {
  for (const std::string& argument : arguments) {
    if (argument == "--version") std::cout << "sandkeepctl " << SANDKEEP_VERSION << "\n";
    if (argument == "--help" || argument == "-h") std::cout << kCtlUsage;
    if (argument == "--version" || argument == "--help" || argument == "-h") return true;
  }
  return false;
}

int Main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  // The one line for the person is ours, not gRPC's.
  SetLogThreshold(Severity::kError);
  std::vector<std::string> arguments(argv, argv + argc);
  if (AnswerPlainQuestion(arguments)) return 0;
  // absl knows its flags with underscores only.
  std::string dry_run = "--dry_run";
  for (int i = 1; i < argc; ++i) {
    if (arguments[i] == "--dry-run") argv[i] = dry_run.data();
  }
  const std::vector<char*> positional = absl::ParseCommandLine(argc, argv);
  const absl::StatusOr<std::string> answer = Ask({positional.begin() + 1, positional.end()});
  if (!answer.ok()) return Complain(answer.status());
  std::cout << *answer << std::flush;
  return std::cout.good() ? 0 : kFailed;
}

}  // namespace
}  // namespace sandkeep

int main(int argc, char** argv) { return sandkeep::Main(argc, argv); }
