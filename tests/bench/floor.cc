// floor AT_ONCE SECONDS: what the rows tool-rps and job-overhead-32 can't go below on this machine.
//
// A call: two processes that do nothing but send each other requests and answers of read_output's
// size by gRPC, as many at once as told, with one thread each for gRPC and one for everything else
// (the gateway's and the agent's way of working, without either's work). A start: a process that
// begins and ends. Prints one line of JSON: calls a second, milliseconds to an answer at p50 and
// p99, microseconds of processor a call takes of both processes, and a start. Exit 1 when a call
// fails.

#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/asio/post.hpp>
#include <cstdio>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "common/limits.h"
#include "tests/bench/call_pair.h"

namespace sandkeep {
namespace {

namespace asio = boost::asio;

constexpr std::size_t kRequestBytes = 110;
constexpr std::size_t kAnswerBytes = 160;
constexpr int kStarts = 500;

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
  const grpc::ByteBuffer answer_ = BytesOf(kAnswerBytes);
};

struct Call {
  grpc::ClientContext context;
  const grpc::ByteBuffer request = BytesOf(kRequestBytes);
  grpc::ByteBuffer answer;
  BenchClock::time_point begun = BenchClock::now();
};

void Begin(CallLoad& load) {
  auto call = std::make_shared<Call>();
  call->context.set_deadline(std::chrono::system_clock::now() + kRpcDeadline);
  Call& begun = *call;
  auto answered = [&load, call = std::move(call)](const grpc::Status& status) {
    asio::post(load.io, [&load, call, status] { EndedCall(load, call->begun, status, Begin); });
  };
  load.stub.UnaryCall(&begun.context, "/sandkeep.agent.v1.Agent/ReadOutput", {}, &begun.request,
                      &begun.answer, std::move(answered));
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

int Main(const std::vector<std::string>& arguments) {
  if (arguments.size() != 2) {
    std::cerr << "usage: floor AT_ONCE SECONDS\n";
    return EXIT_FAILURE;
  }
  const int at_once = std::atoi(arguments[0].c_str());
  const auto answer = [](asio::io_context& io) -> grpc::ServerGenericBidiReactor* {
    return new Answer(io);
  };
  const auto calls = MeasureCalls(at_once, std::atof(arguments[1].c_str()), answer, Begin);
  if (!calls.has_value()) return EXIT_FAILURE;
  std::printf(R"({"at_once": %d, "calls_a_second": %.0f, "p50_ms": %.2f, "p99_ms": %.2f, )"
              R"("call_cpu_us": %.1f, "start_cpu_us": %.0f})"
              "\n",
              at_once, calls->calls_a_second, calls->p50_ms, calls->p99_ms, calls->cpu_us,
              CpuOfAStart());
  std::fflush(stdout);
  return EXIT_SUCCESS;
}

}  // namespace
}  // namespace sandkeep

// As call_pair.h has it.
int main(int argc, char** argv) { std::_Exit(sandkeep::Main({argv + 1, argv + argc})); }
