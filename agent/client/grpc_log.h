// gRPC's own log lines go through common/log, errors only: what it says below that is about its
// insides. Call before the first use of gRPC; any thread, any number of times.
#pragma once

namespace sandkeep {

void RouteGrpcLog();

}  // namespace sandkeep
