// Two processes that do nothing but call each other by gRPC, each with one thread for gRPC and one
// for everything else: the gateway's and the agent's way of working, without either's work. For the
// programs of this folder that measure what a call can't cost less than.
#pragma once

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace sandkeep {

using BenchClock = std::chrono::steady_clock;

// The calling process. `io` is run by its own thread, and everything here is that thread's.
struct CallLoad {
  boost::asio::io_context io{1};
  grpc::GenericStub stub;
  BenchClock::time_point end;
  int running = 0;
  std::vector<double> took_ms = {};
  std::string failure = {};
};

struct CallFigures {
  double calls_a_second;
  double p50_ms;
  double p99_ms;
  double mean_ms;
  // Of the processor, of both processes.
  double cpu_us;
};

// Makes what answers one call, in the answering process.
using AnswerCall = grpc::ServerGenericBidiReactor* (*)(boost::asio::io_context& io);
// Begins one call, which says EndedCall when it has ended.
using BeginCall = void (*)(CallLoad& load);

grpc::ByteBuffer BytesOf(std::size_t count);
double CpuSeconds(int who);

// Begins another one while there is time.
void EndedCall(CallLoad& load, BenchClock::time_point begun, const grpc::Status& status,
               BeginCall begin);

// So many at once, for so long. Nothing: a call failed, and standard error says why. Before gRPC's
// first use in this process; afterwards it may only leave by std::_Exit, since what gRPC's threads
// still deliver must find everything in its place.
std::optional<CallFigures> MeasureCalls(int at_once, double seconds, AnswerCall answer,
                                        BeginCall begin);

}  // namespace sandkeep
