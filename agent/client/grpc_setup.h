// How this program uses gRPC's core, client and server alike: its log lines go through common/log,
// errors only, and its threads wait by poll(2), which hands a message on sooner than epoll where
// there are as few sockets as here. Before the first use of gRPC, while the program has one thread;
// more calls change nothing.
#pragma once

namespace sandkeep {

void SetUpGrpc();

}  // namespace sandkeep
