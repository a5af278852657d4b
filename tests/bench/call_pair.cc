#include "tests/bench/call_pair.h"

#include <grpcpp/create_channel.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/executor_work_guard.hpp>
#include <iostream>
#include <numeric>

#include "agent/client/grpc_setup.h"
#include "agent/client/single_poller.h"
#include "common/strings.h"

namespace sandkeep {
namespace {

namespace asio = boost::asio;

class Service : public grpc::CallbackGenericService {
 public:
  Service(asio::io_context& io, AnswerCall answer) : io_(io), answer_(answer) {}
  grpc::ServerGenericBidiReactor* CreateReactor(grpc::GenericCallbackServerContext*) override {
    return answer_(io_);
  }

 private:
  asio::io_context& io_;
  const AnswerCall answer_;
};

// Until it is killed. `ready` hears of it when it listens.
[[noreturn]] void Serve(const std::string& address, int ready, AnswerCall answer) {
  const auto poller = HoldSinglePoller();
  asio::io_context io(1);
  const auto work = asio::make_work_guard(io);
  Service service(io, answer);
  grpc::ServerBuilder builder;
  builder.RegisterCallbackGenericService(&service);
  builder.AddListeningPort(address, grpc::InsecureServerCredentials());
  for (const char* const feature : kUnusedGrpcFeatures) builder.AddChannelArgument(feature, 0);
  const auto server = builder.BuildAndStart();
  if (server == nullptr || ::write(ready, "r", 1) != 1) std::_Exit(EXIT_FAILURE);
  io.run();
  std::_Exit(EXIT_SUCCESS);
}

std::optional<CallFigures> Measure(const std::string& address, pid_t server, int at_once,
                                   double seconds, BeginCall begin) {
  const auto poller = HoldSinglePoller();
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  for (const char* const feature : kUnusedGrpcFeatures) arguments.SetInt(feature, 0);
  CallLoad load{
      .stub = grpc::GenericStub(
          grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments)),
      .end = BenchClock::now() + std::chrono::milliseconds(static_cast<int>(seconds * 1000)),
      .running = at_once};
  const auto work = asio::make_work_guard(load.io);
  const double before = CpuSeconds(RUSAGE_SELF);
  const BenchClock::time_point begun = BenchClock::now();
  for (int i = 0; i < at_once; ++i) begin(load);
  load.io.run();
  const std::chrono::duration<double> took = BenchClock::now() - begun;
  double cpu = CpuSeconds(RUSAGE_SELF) - before;
  ::kill(server, SIGKILL);
  ::waitpid(server, nullptr, 0);
  cpu += CpuSeconds(RUSAGE_CHILDREN);
  if (!load.failure.empty()) {
    std::cerr << "a call failed: " << load.failure << "\n";
    return std::nullopt;
  }
  std::vector<double>& all = load.took_ms;
  std::sort(all.begin(), all.end());
  const auto calls = static_cast<double>(all.size());
  return CallFigures{.calls_a_second = calls / took.count(),
                     .p50_ms = all[all.size() / 2],
                     .p99_ms = all[all.size() * 99 / 100],
                     .mean_ms = std::accumulate(all.begin(), all.end(), 0.0) / calls,
                     .cpu_us = cpu / calls * 1e6};
}

}  // namespace

grpc::ByteBuffer BytesOf(std::size_t count) {
  const grpc::Slice slice(std::string(count, 'x'));
  return {&slice, 1};
}

double CpuSeconds(int who) {
  rusage used{};
  ::getrusage(who, &used);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

void EndedCall(CallLoad& load, BenchClock::time_point begun, const grpc::Status& status,
               BeginCall begin) {
  if (!status.ok()) load.failure = status.error_message();
  const BenchClock::time_point now = BenchClock::now();
  load.took_ms.push_back(std::chrono::duration<double, std::milli>(now - begun).count());
  if (now < load.end && load.failure.empty()) return begin(load);
  if (--load.running == 0) load.io.stop();
}

std::optional<CallFigures> MeasureCalls(int at_once, double seconds, AnswerCall answer,
                                        BeginCall begin) {
  std::string folder = "/tmp/sandkeep-floor-XXXXXX";
  int ready[2];
  if (::mkdtemp(folder.data()) == nullptr || ::pipe(ready) != 0) return std::nullopt;
  const std::string path = StrCat(folder, "/socket");
  // Before gRPC's first thread.
  const pid_t server = ::fork();
  if (server == 0) Serve("unix:" + path, ready[1], answer);
  ::close(ready[1]);
  char heard = 0;
  std::optional<CallFigures> figures;
  if (::read(ready[0], &heard, 1) == 1) {
    figures = Measure("unix:" + path, server, at_once, seconds, begin);
  }
  ::close(ready[0]);
  ::unlink(path.c_str());
  ::rmdir(folder.c_str());
  return figures;
}

}  // namespace sandkeep
