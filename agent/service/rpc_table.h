// Every method of the agent's API: who may call it, how large its request may be, and whether it
// may be called again. What stands here can be called, nothing else: a method of agent.proto that
// is missing below, or one below that agent.proto doesn't have, fails the build.
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
  // A retry changes nothing that the first call didn't.
  bool idempotent;
};

// A reference, a path and the handful of numbers beside them.
inline constexpr std::size_t kSmallRequest = 8_KiB;

// clang-format off
inline constexpr std::array kRpcTable = {
    //  method               callers              largest request       idempotent
    Rpc{"StartJob",          Callers::kFrontends, kMaxRpcRequestBytes,  true},
    Rpc{"WatchJob",          Callers::kFrontends, kSmallRequest,        true},
    Rpc{"SendInput",         Callers::kFrontends, kMaxInputBytes + kSmallRequest, false},
    Rpc{"SignalJob",         Callers::kFrontends, kSmallRequest,        false},
    Rpc{"ResizeTerminal",    Callers::kFrontends, kSmallRequest,        true},
    Rpc{"ListJobs",          Callers::kFrontends, kSmallRequest,        true},
    Rpc{"ReadOutput",        Callers::kFrontends, kSmallRequest,        true},
    Rpc{"ListSandboxes",     Callers::kBoth,      kSmallRequest,        true},
    Rpc{"GetSandbox",        Callers::kBoth,      kSmallRequest,        true},
    Rpc{"Freeze",            Callers::kBoth,      kSmallRequest,        true},
    Rpc{"Thaw",              Callers::kBoth,      kSmallRequest,        true},
    Rpc{"RemoveSandbox",     Callers::kBoth,      kSmallRequest,        true},
    Rpc{"StatFile",          Callers::kFrontends, kSmallRequest,        true},
    Rpc{"ReadFile",          Callers::kFrontends, kSmallRequest,        true},
    Rpc{"OpenFile",          Callers::kFrontends, kSmallRequest,        true},
    Rpc{"WriteFile",         Callers::kFrontends, kMaxFileChunk + kSmallRequest, true},
    Rpc{"DeleteFile",        Callers::kFrontends, kSmallRequest,        true},
    Rpc{"ListFiles",         Callers::kFrontends, kSmallRequest,        true},
    Rpc{"RenderImage",       Callers::kFrontends, kSmallRequest,        true},
    Rpc{"GetInfo",           Callers::kBoth,      kSmallRequest,        true},
    Rpc{"RemoveVolume",      Callers::kOperators, kSmallRequest,        true},
    Rpc{"CollectGarbage",    Callers::kOperators, kSmallRequest,        true},
    Rpc{"WatchEvents",       Callers::kOperators, kSmallRequest,        true},
    Rpc{"ReadAudit",         Callers::kOperators, kSmallRequest,        true},
    Rpc{"GetMetrics",        Callers::kOperators, kSmallRequest,        true},
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
