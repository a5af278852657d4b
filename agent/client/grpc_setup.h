// How this program uses gRPC's core, client and server alike: its log lines go through common/log,
// errors only, since what it says below that is about its insides; its locks aren't watched. What
// its threads wait by is left as it is (single_poller.h says how many do): by poll(2) a message is
// handed on a tenth sooner, but a lost agent's return is seen only after five seconds. Before the
// first use of gRPC; any thread, any number of times.
#pragma once

#include <grpc/grpc.h>

#include <array>

namespace sandkeep {

void SetUpGrpc();

// What costs every call time and memory, and is no use on one machine's socket: set to 0 on both
// sides. What can't be decompressed can't be a bomb either.
inline constexpr std::array kUnusedGrpcFeatures = {
    GRPC_ARG_ENABLE_PER_MESSAGE_COMPRESSION,
    GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION,
    GRPC_ARG_ENABLE_CENSUS,
    GRPC_ARG_ENABLE_CHANNELZ,
    GRPC_ARG_MAX_CHANNEL_TRACE_EVENT_MEMORY_PER_NODE,
};

}  // namespace sandkeep
