// stream_floor AT_ONCE SECONDS: what a command's call can't cost less than on this machine.
//
// Two processes that do nothing but what StartJob makes of gRPC: a request, a first message (it has
// started), and a last one with the status (its outcome), as many at once as told, each process
// with one thread for gRPC and one for everything else. Prints one line of JSON: calls a second,
// milliseconds to the end at p50 and on average, and the microseconds of processor that a call
// takes of both processes. Exit 1 when a call fails.

#include <grpcpp/create_channel.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <signal.h>
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
#include <numeric>
#include <string>
#include <vector>

#include "agent/client/grpc_setup.h"
#include "agent/client/single_poller.h"
#include "common/limits.h"
#include "common/strings.h"

namespace sandkeep {
namespace {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;

// As of a StartJob of `true`.
constexpr std::size_t kRequestBytes = 90;
constexpr std::size_t kStartedBytes = 120;
constexpr std::size_t kOutcomeBytes = 20;

grpc::ByteBuffer Bytes(std::size_t count) {
  const grpc::Slice slice(std::string(count, 'x'));
  return {&slice, 1};
}

// Says two things, each on the process's own thread.
class Answer : public grpc::ServerGenericBidiReactor {
 public:
  explicit Answer(asio::io_context& io) : io_(io) { StartRead(&request_); }

 private:
  void OnReadDone(bool ok) override {
    if (!ok) return Finish(grpc::Status::CANCELLED);
    asio::post(io_, [this] { StartWrite(&started_); });
  }
  void OnWriteDone(bool ok) override {
    if (!ok) return Finish(grpc::Status::CANCELLED);
    asio::post(io_,
               [this] { StartWriteAndFinish(&outcome_, grpc::WriteOptions(), grpc::Status::OK); });
  }
  void OnDone() override { delete this; }

  asio::io_context& io_;
  grpc::ByteBuffer request_;
  const grpc::ByteBuffer started_ = Bytes(kStartedBytes);
  const grpc::ByteBuffer outcome_ = Bytes(kOutcomeBytes);
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

void Begin(Load& load);

// One call; each message is taken on the process's own thread, and only then is the next read.
class Call : public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  explicit Call(Load& load) : load_(load) {
    context_.set_deadline(std::chrono::system_clock::now() + kRpcDeadline);
    load.stub.PrepareBidiStreamingCall(&context_, "/sandkeep.agent.v1.Agent/StartJob", {}, this);
    StartWriteLast(&request_, grpc::WriteOptions());
    StartRead(&message_);
    AddHold();
    StartCall();
  }

 private:
  void OnReadDone(bool ok) override {
    if (!ok) return RemoveHold();
    asio::post(load_.io, [this] { StartRead(&message_); });
  }
  void OnDone(const grpc::Status& status) override {
    asio::post(load_.io, [this, status] { End(status); });
  }
  void End(const grpc::Status& status) {
    Load& load = load_;
    const Clock::time_point now = Clock::now();
    if (!status.ok()) load.failure = status.error_message();
    load.took_ms.push_back(std::chrono::duration<double, std::milli>(now - begun_).count());
    delete this;
    if (now < load.end && load.failure.empty()) return Begin(load);
    if (--load.running == 0) load.io.stop();
  }

  Load& load_;
  grpc::ClientContext context_;
  const grpc::ByteBuffer request_ = Bytes(kRequestBytes);
  grpc::ByteBuffer message_;
  const Clock::time_point begun_ = Clock::now();
};

void Begin(Load& load) { new Call(load); }

double CpuSeconds(int who) {
  rusage used{};
  ::getrusage(who, &used);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
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
    std::cerr << "stream_floor: " << load.failure << "\n";
    return EXIT_FAILURE;
  }
  std::vector<double>& all = load.took_ms;
  std::sort(all.begin(), all.end());
  const auto calls = static_cast<double>(all.size());
  std::printf(R"({"at_once": %d, "calls_a_second": %.0f, "p50_ms": %.2f, "mean_ms": %.2f, )"
              R"("cpu_us": %.1f})"
              "\n",
              at_once, calls / took.count(), all[all.size() / 2],
              std::accumulate(all.begin(), all.end(), 0.0) / calls, cpu / calls * 1e6);
  return EXIT_SUCCESS;
}

int Main(const std::vector<std::string>& arguments) {
  if (arguments.size() != 2) {
    std::cerr << "usage: stream_floor AT_ONCE SECONDS\n";
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
