// Every method of the agent's API: who may call it, how large its request may be, how often one
// peer may begin it, and whether it may be called again. What stands here can be called, nothing
// else: a method of agent.proto that is missing below, or one below that agent.proto doesn't have,
// fails the build.
//
// Constant data; any thread.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "common/limits.h"

namespace sandkeep {

enum class Callers { kFrontends, kOperators, kBoth };

struct Rpc {
  std::string_view name;
  Callers callers;
  // Of the serialised request.
  std::size_t max_request_bytes;
  // By one peer. Far above what a busy front end does: who comes near it means harm.
  int per_second;
  // A retry changes nothing that the first call didn't.
  bool idempotent;
};

// A reference, a path and the handful of numbers beside them.
inline constexpr std::size_t kSmallRequest = 8_KiB;

// What is answered from memory, or by one look at a file; what begins a process or writes; what
// keeps the engine or a processor busy for long; what an operator types.
inline constexpr int kLooks = 50'000;
inline constexpr int kWork = 10'000;
inline constexpr int kHeavy = 200;
inline constexpr int kRare = 10;

// clang-format off
inline constexpr std::array kRpcTable = {
    //  method             callers              largest request                 a second  idempotent
    Rpc{"StartJob",        Callers::kFrontends, kMaxRpcRequestBytes,            kWork,    true},
    Rpc{"WatchJob",        Callers::kFrontends, kSmallRequest,                  kLooks,   true},
    Rpc{"SendInput",       Callers::kFrontends, kMaxInputBytes + kSmallRequest, kWork,    false},
    Rpc{"SignalJob",       Callers::kFrontends, kSmallRequest,                  kWork,    false},
    Rpc{"ResizeTerminal",  Callers::kFrontends, kSmallRequest,                  kWork,    true},
    Rpc{"ListJobs",        Callers::kFrontends, kSmallRequest,                  kLooks,   true},
    Rpc{"ReadOutput",      Callers::kFrontends, kSmallRequest,                  kLooks,   true},
    Rpc{"ListSandboxes",   Callers::kBoth,      kSmallRequest,                  kLooks,   true},
    Rpc{"GetSandbox",      Callers::kBoth,      kSmallRequest,                  kLooks,   true},
    Rpc{"Freeze",          Callers::kBoth,      kSmallRequest,                  kHeavy,   true},
    Rpc{"Thaw",            Callers::kBoth,      kSmallRequest,                  kHeavy,   true},
    Rpc{"RemoveSandbox",   Callers::kBoth,      kSmallRequest,                  kHeavy,   true},
    Rpc{"StatFile",        Callers::kFrontends, kSmallRequest,                  kLooks,   true},
    Rpc{"ReadFile",        Callers::kFrontends, kSmallRequest,                  kLooks,   true},
    Rpc{"OpenFile",        Callers::kFrontends, kSmallRequest,                  kLooks,   true},
    Rpc{"WriteFile",       Callers::kFrontends, kMaxFileChunk + kSmallRequest,  kWork,    true},
    Rpc{"DeleteFile",      Callers::kFrontends, kSmallRequest,                  kWork,    true},
    Rpc{"ListFiles",       Callers::kFrontends, kSmallRequest,                  kWork,    true},
    Rpc{"RenderImage",     Callers::kFrontends, kSmallRequest,                  kHeavy,   true},
    Rpc{"GetInfo",         Callers::kBoth,      kSmallRequest,                  kLooks,   true},
    Rpc{"RemoveVolume",    Callers::kOperators, kSmallRequest,                  kRare,    true},
    Rpc{"CollectGarbage",  Callers::kOperators, kSmallRequest,                  kRare,    true},
    Rpc{"WatchEvents",     Callers::kOperators, kSmallRequest,                  kRare,    true},
    Rpc{"ReadAudit",       Callers::kOperators, kSmallRequest,                  kRare,    true},
    Rpc{"GetMetrics",      Callers::kOperators, kSmallRequest,                  kRare,    true},
};
// clang-format on

// At compile time only: a name that isn't listed is no constant expression.
consteval const Rpc& RpcOf(std::string_view name) {
  for (const Rpc& rpc : kRpcTable) {
    if (rpc.name == name) return rpc;
  }
  throw "not in kRpcTable";
}

}  // namespace sandkeep
