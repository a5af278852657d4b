// How this program uses gRPC's core, client and server alike: its log lines go through common/log,
// errors only, since what it says below that is about its insides; its locks aren't watched. How
// its threads wait is left as it is: by poll(2) a message is handed on a tenth sooner, but a lost
// agent's return is seen only after five seconds. Before the first use of gRPC; any thread, any
// number of times.
#pragma once

namespace sandkeep {

void SetUpGrpc();

}  // namespace sandkeep
