// floor AT_ONCE SECONDS: what the rows tool-rps and job-overhead-32 can't go below on this machine.
//
// A call: two processes that do nothing but send each other requests and answers of read_output's
// size by gRPC, as many at once as told, with one thread each for gRPC and one for everything else
// (the gateway's and the agent's way of working, without either's work). A start: a process that
// begins and ends. Prints one line of JSON: calls a second, milliseconds to an answer at p50 and
// p99, microseconds of processor a call takes of both processes, and a start. Exit 1 when a call
// fails.

#include <grpcpp/create_channel.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include "agent/client/grpc_setup.h"
#include "agent/client/single_poller.h"
#include "common/limits.h"
#include "common/strings.h"

namespace sandkeep {
namespace {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kRequestBytes = 110;
constexpr std::size_t kAnswerBytes = 160;
constexpr int kStarts = 500;

grpc::ByteBuffer Bytes(std::size_t count) {
  const grpc::Slice slice(std::string(count, 'x'));
  return {&slice, 1};
}

// Answers on the process's own thread.
class Answer : public grpc::ServerGenericBidiReactor {
 public:
  explicit Answer(asio::io_context& io) : io_(io) { StartRead(&request_); }

 private:
  void OnReadDone(bool ok) override {
    if (!ok) return Finish(grpc::Status::CANCELLED);
    asio::post(io_,
               [this] { StartWriteAndFinish(&answer_, grpc::WriteOptions(), grpc::Status::OK); });
  }
  void OnDone() override { delete this; }

  asio::io_context& io_;
  grpc::ByteBuffer request_;
  const grpc::ByteBuffer answer_ = Bytes(kAnswerBytes);
};

class Service : public grpc::CallbackGenericService {
 public:
  explicit Service(asio::io_context& io) : io_(io) {}
  grpc::ServerGenericBidiReactor* CreateReactor(grpc::GenericCallbackServerContext*) override {
    return new Answer(io_);
  }

 private:
  asio::io_context& io_;
};

// Until it is killed. `ready` hears of it when it listens.
[[noreturn]] void Serve(const std::string& address, int ready) {
  const auto poller = HoldSinglePoller();
  asio::io_context io(1);
  const auto work = asio::make_work_guard(io);
  Service service(io);
  grpc::ServerBuilder builder;
  builder.RegisterCallbackGenericService(&service);
  builder.AddListeningPort(address, grpc::InsecureServerCredentials());
  for (const char* const feature : kUnusedGrpcFeatures) builder.AddChannelArgument(feature, 0);
  const auto server = builder.BuildAndStart();
  if (server == nullptr || ::write(ready, "r", 1) != 1) std::_Exit(EXIT_FAILURE);
  io.run();
  std::_Exit(EXIT_SUCCESS);
}

struct Load {
  asio::io_context io{1};
  grpc::GenericStub stub;
  Clock::time_point end;
  int running = 0;
  std::vector<double> took_ms = {};
  std::string failure = {};
};

struct Call {
  grpc::ClientContext context;
  const grpc::ByteBuffer request = Bytes(kRequestBytes);
  grpc::ByteBuffer answer;
  Clock::time_point begun = Clock::now();
};

void Begin(Load& load);

void Ended(Load& load, const Call& call, const grpc::Status& status) {
  if (!status.ok()) load.failure = status.error_message();
  const Clock::time_point now = Clock::now();
  load.took_ms.push_back(std::chrono::duration<double, std::milli>(now - call.begun).count());
  if (now < load.end && status.ok()) return Begin(load);
  if (--load.running == 0) load.io.stop();
}

void Begin(Load& load) {
  auto call = std::make_shared<Call>();
  call->context.set_deadline(std::chrono::system_clock::now() + kRpcDeadline);
  Call& begun = *call;
  auto answered = [&load, call = std::move(call)](const grpc::Status& status) {
    asio::post(load.io, [&load, call, status] { Ended(load, *call, status); });
  };
  load.stub.UnaryCall(&begun.context, "/sandkeep.agent.v1.Agent/ReadOutput", {}, &begun.request,
                      &begun.answer, std::move(answered));
}

double CpuSeconds(int who) {
  rusage used{};
  ::getrusage(who, &used);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

// Of both sides, in microseconds.
double CpuOfAStart() {
  const double before = CpuSeconds(RUSAGE_SELF) + CpuSeconds(RUSAGE_CHILDREN);
  char name[] = "true";
  char* const arguments[] = {name, nullptr};
  for (int i = 0; i < kStarts; ++i) {
    pid_t pid = 0;
    if (::posix_spawn(&pid, "/bin/true", nullptr, nullptr, arguments, environ) == 0) {
      ::waitpid(pid, nullptr, 0);
    }
  }
  return (CpuSeconds(RUSAGE_SELF) + CpuSeconds(RUSAGE_CHILDREN) - before) / kStarts * 1e6;
}

int Measure(const std::string& address, pid_t server, int at_once, double seconds) {
  const auto poller = HoldSinglePoller();
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  for (const char* const feature : kUnusedGrpcFeatures) arguments.SetInt(feature, 0);
  Load load{.stub = grpc::GenericStub(
                grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments)),
            .end = Clock::now() + std::chrono::milliseconds(static_cast<int>(seconds * 1000)),
            .running = at_once};
  const auto work = asio::make_work_guard(load.io);
  const double before = CpuSeconds(RUSAGE_SELF);
  const Clock::time_point begun = Clock::now();
  for (int i = 0; i < at_once; ++i) Begin(load);
  load.io.run();
  const std::chrono::duration<double> took = Clock::now() - begun;
  double cpu = CpuSeconds(RUSAGE_SELF) - before;
  ::kill(server, SIGKILL);
  ::waitpid(server, nullptr, 0);
  cpu += CpuSeconds(RUSAGE_CHILDREN);
  if (!load.failure.empty()) {
    std::cerr << "floor: " << load.failure << "\n";
    return EXIT_FAILURE;
  }
  std::vector<double>& all = load.took_ms;
  std::sort(all.begin(), all.end());
  const auto calls = static_cast<double>(all.size());
  std::printf(R"({"at_once": %d, "calls_a_second": %.0f, "p50_ms": %.2f, "p99_ms": %.2f, )"
              R"("call_cpu_us": %.1f, "start_cpu_us": %.0f})"
              "\n",
              at_once, calls / took.count(), all[all.size() / 2], all[all.size() * 99 / 100],
              cpu / calls * 1e6, CpuOfAStart());
  return EXIT_SUCCESS;
}

int Main(const std::vector<std::string>& arguments) {
  if (arguments.size() != 2) {
    std::cerr << "usage: floor AT_ONCE SECONDS\n";
    return EXIT_FAILURE;
  }
  std::string folder = "/tmp/sandkeep-floor-XXXXXX";
  int ready[2];
  if (::mkdtemp(folder.data()) == nullptr || ::pipe(ready) != 0) return EXIT_FAILURE;
  const std::string path = StrCat(folder, "/socket");
  // Before gRPC's first thread.
  const pid_t server = ::fork();
  if (server == 0) Serve("unix:" + path, ready[1]);
  ::close(ready[1]);
  char heard = 0;
  int result = EXIT_FAILURE;
  if (::read(ready[0], &heard, 1) == 1) {
    result = Measure("unix:" + path, server, std::atoi(arguments[0].c_str()),
                     std::atof(arguments[1].c_str()));
  }
  ::unlink(path.c_str());
  ::rmdir(folder.c_str());
  std::fflush(stdout);
  // What threads of gRPC still deliver must find everything in its place.
  std::_Exit(result);
}

}  // namespace
}  // namespace sandkeep

int main(int argc, char** argv) { return sandkeep::Main({argv + 1, argv + argc}); }
