// The table is held against the contract by the build; this holds the build's own reading of it.

#include "agent/service/rpc_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "agent/peer_listener/peer.h"
#include "agent/service/authorize.h"
#include "sandkeep/agent/v1/agent.pb.h"

namespace sandkeep {
namespace {

TEST(RpcTableTest, ListsEveryMethodOfTheContractOnceAndNoOther) {
  const auto* const service =
      agent::v1::StartJobRequest::descriptor()->file()->FindServiceByName("Agent");
  ASSERT_NE(service, nullptr);
  std::multiset<std::string> contract;
  for (int i = 0; i < service->method_count(); ++i) contract.insert(service->method(i)->name());
  std::multiset<std::string> table;
  for (const Rpc& rpc : kRpcTable) table.emplace(rpc.name);
  EXPECT_EQ(table, contract);
}

TEST(RpcTableTest, NoRequestMayBeLargerThanGrpcTakes) {
  for (const Rpc& rpc : kRpcTable) {
    EXPECT_GT(rpc.max_request_bytes, 0u) << rpc.name;
    EXPECT_LE(rpc.max_request_bytes, kMaxRpcRequestBytes) << rpc.name;
  }
}

TEST(RpcTableTest, EachRoleMayCallWhatItsColumnSays) {
  const Peer frontend{.uid = 1, .frontend = true, .operate = false, .prefix = ""};
  const Peer operate{.uid = 2, .frontend = false, .operate = true, .prefix = ""};
  const Peer neither{.uid = 3, .frontend = false, .operate = false, .prefix = ""};
  for (const Rpc& rpc : kRpcTable) {
    EXPECT_EQ(MayCall(frontend, rpc).ok(), rpc.callers != Callers::kOperators) << rpc.name;
    EXPECT_EQ(MayCall(operate, rpc).ok(), rpc.callers != Callers::kFrontends) << rpc.name;
    EXPECT_TRUE(absl::IsPermissionDenied(MayCall(neither, rpc))) << rpc.name;
  }
}

TEST(RpcTableTest, WhatDestroysForAllIsForOperatorsOnly) {
  for (const std::string_view name :
       {"RemoveVolume", "CollectGarbage", "WatchEvents", "ReadAudit", "GetMetrics"}) {
    const auto row = std::find_if(kRpcTable.begin(), kRpcTable.end(),
                                  [&](const Rpc& rpc) { return rpc.name == name; });
    ASSERT_NE(row, kRpcTable.end());
    EXPECT_EQ(row->callers, Callers::kOperators) << name;
  }
}

TEST(AuthorizeTest, AnOperatorWhoIsAlsoABoundFrontEndSeesAllOnlyWhereOperatorsMayCall) {
  const Peer both{.uid = 1, .frontend = true, .operate = true, .prefix = "stdio"};
  const PrincipalId foreign = *PrincipalId::Parse("key-1");
  EXPECT_TRUE(MayName(both, RpcOf("GetSandbox"), foreign).ok());
  EXPECT_TRUE(absl::IsPermissionDenied(MayName(both, RpcOf("StartJob"), foreign)));
}

}  // namespace
}  // namespace sandkeep
