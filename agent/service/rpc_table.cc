#include "agent/service/rpc_table.h"

namespace sandkeep {
namespace {

// rpc_methods.inc has a line SANDKEEP_RPC(Name) for each rpc of agent.proto; the build makes it.
#define SANDKEEP_RPC(method) static_assert(RpcOf(#method).name == #method);
#include "agent/service/rpc_methods.inc"
#undef SANDKEEP_RPC

#define SANDKEEP_RPC(method) +1
constexpr std::size_t kMethods = 0
#include "agent/service/rpc_methods.inc"
    ;
#undef SANDKEEP_RPC
static_assert(kRpcTable.size() == kMethods, "kRpcTable lists what agent.proto doesn't have");

}  // namespace
}  // namespace sandkeep
