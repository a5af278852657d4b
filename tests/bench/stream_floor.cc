// stream_floor AT_ONCE SECONDS: what a command's call can't cost less than on this machine.
//
// Two processes that do nothing but what StartJob makes of gRPC: a request, a first message (it has
// started), and a last one with the status (its outcome), as many at once as told, each process
// with one thread for gRPC and one for everything else. Prints one line of JSON: calls a second,
// milliseconds to the end at p50 and on average, and the microseconds of processor that a call
// takes of both processes. Exit 1 when a call fails.

#include <boost/asio/post.hpp>
#include <cstdio>
#include <iostream>
#include <string>
#include <vector>

#include "common/limits.h"
#include "tests/bench/call_pair.h"

namespace sandkeep {
namespace {

namespace asio = boost::asio;

// As of a StartJob of `true`.
constexpr std::size_t kRequestBytes = 90;
constexpr std::size_t kStartedBytes = 120;
constexpr std::size_t kOutcomeBytes = 20;

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
  const grpc::ByteBuffer started_ = BytesOf(kStartedBytes);
  const grpc::ByteBuffer outcome_ = BytesOf(kOutcomeBytes);
};

void Begin(CallLoad& load);

// One call; each message is taken on the process's own thread, and only then is the next read.
class Call : public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  explicit Call(CallLoad& load) : load_(load) {
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
    CallLoad& load = load_;
    const BenchClock::time_point begun = begun_;
    delete this;
    EndedCall(load, begun, status, Begin);
  }

  CallLoad& load_;
  grpc::ClientContext context_;
  const grpc::ByteBuffer request_ = BytesOf(kRequestBytes);
  grpc::ByteBuffer message_;
  const BenchClock::time_point begun_ = BenchClock::now();
};

void Begin(CallLoad& load) { new Call(load); }

int Main(const std::vector<std::string>& arguments) {
  if (arguments.size() != 2) {
    std::cerr << "usage: stream_floor AT_ONCE SECONDS\n";
    return EXIT_FAILURE;
  }
  const int at_once = std::atoi(arguments[0].c_str());
  const auto answer = [](asio::io_context& io) -> grpc::ServerGenericBidiReactor* {
    return new Answer(io);
  };
  const auto calls = MeasureCalls(at_once, std::atof(arguments[1].c_str()), answer, Begin);
  if (!calls.has_value()) return EXIT_FAILURE;
  std::printf(R"({"at_once": %d, "calls_a_second": %.0f, "p50_ms": %.2f, "mean_ms": %.2f, )"
              R"("cpu_us": %.1f})"
              "\n",
              at_once, calls->calls_a_second, calls->p50_ms, calls->mean_ms, calls->cpu_us);
  std::fflush(stdout);
  return EXIT_SUCCESS;
}

}  // namespace
}  // namespace sandkeep

// As call_pair.h has it.
int main(int argc, char** argv) { std::_Exit(sandkeep::Main({argv + 1, argv + argc})); }
