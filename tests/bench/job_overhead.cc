// job_overhead SOCKET PRINCIPAL LABEL AT_ONCE COUNT: runs `true` COUNT times, AT_ONCE at a time,
// and prints the median and the mean time from StartJob to the outcome, in milliseconds. Exit 1 and
// one line on standard error when a command didn't end well.

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <numeric>
#include <string>
#include <vector>

#include "agent/client/agent_client.h"
#include "agent/client/single_poller.h"
#include "common/ids.h"
#include "common/random.h"
#include "common/status_macros.h"
#include "common/strings.h"

namespace sandkeep {
namespace {

namespace v1 = agent::v1;
using Clock = std::chrono::steady_clock;

struct Load {
  AgentClient& client;
  v1::SandboxRef sandbox;
  int left;
  std::vector<double> took_ms = {};
  absl::Status failure = absl::OkStatus();
};

Async<void> RunOnce(Load& load) {
  v1::StartJobRequest request;
  *request.mutable_sandbox() = load.sandbox;
  request.set_job_id(JobId::Random(SystemRandom()).bytes());
  request.set_command("true");
  request.set_merge_streams(true);
  request.set_timeout_ms(60'000);
  const Clock::time_point begun = Clock::now();
  const JobEventStream stream = load.client.StartJob(std::move(request));
  for (;;) {
    auto next = stream->Next();
    CO_ASSIGN_OR_RETURN(const std::optional<v1::JobEvent> event, co_await std::move(next));
    if (!event.has_value()) co_return absl::DataLossError("a command without an outcome");
    if (!event->has_outcome()) continue;
    const v1::Outcome& outcome = event->outcome();
    if (outcome.ending() != v1::Outcome::EXITED || outcome.code() != 0) {
      co_return absl::AbortedError(StrCat("`true` ended with ", outcome.code()));
    }
    break;
  }
  load.took_ms.push_back(std::chrono::duration<double, std::milli>(Clock::now() - begun).count());
  co_return absl::OkStatus();
}

// One of those that run at once.
boost::asio::awaitable<void> RunOneAfterAnother(Load& load) {
  while (load.failure.ok() && load.left-- > 0) {
    auto once = RunOnce(load);
    const absl::Status status = co_await std::move(once);
    if (!status.ok()) load.failure = status;
  }
}

int Main(const std::vector<std::string>& arguments) {
  constexpr std::size_t kArguments = 5;
  if (arguments.size() != kArguments) {
    std::cerr << "usage: job_overhead SOCKET PRINCIPAL LABEL AT_ONCE COUNT\n";
    return EXIT_FAILURE;
  }
  // As the gateway does.
  const auto poller = HoldSinglePoller();
  const auto client = ConnectToAgent(arguments[0]);
  if (!client.ok()) {
    std::cerr << ToStd(client.status().message()) << "\n";
    return EXIT_FAILURE;
  }
  Load load{.client = **client, .sandbox = {}, .left = std::atoi(arguments[4].c_str())};
  load.sandbox.set_principal(arguments[1]);
  load.sandbox.set_label(arguments[2]);
  boost::asio::io_context io;
  for (int i = std::atoi(arguments[3].c_str()); i > 0; --i) {
    Spawn(io.get_executor(), "bench", RunOneAfterAnother(load));
  }
  io.run();
  if (!load.failure.ok() || load.took_ms.empty()) {
    std::cerr << "job_overhead: " << ToStd(load.failure.message()) << "\n";
    return EXIT_FAILURE;
  }
  const auto middle = load.took_ms.begin() + static_cast<std::ptrdiff_t>(load.took_ms.size() / 2);
  std::nth_element(load.took_ms.begin(), middle, load.took_ms.end());
  const double sum = std::accumulate(load.took_ms.begin(), load.took_ms.end(), 0.0);
  std::cout << *middle << " " << sum / static_cast<double>(load.took_ms.size()) << "\n";
  return EXIT_SUCCESS;
}

}  // namespace
}  // namespace sandkeep

int main(int argc, char** argv) { return sandkeep::Main({argv + 1, argv + argc}); }
