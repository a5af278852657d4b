// Has one of gRPC's threads wait for events, instead of two or more by turns.
//
// gRPC 1.51 serves callbacks by threads of its own, at least two, and each event makes the one that
// waited wake another to wait in its place: a fifth of what a call costs. Whoever has waited for a
// second without an event looks away for a tenth of one, and after a busy moment all of them do so
// together: what comes then isn't seen before. So all but one are given a callback that lasts as
// long as this does, and one of those gives the waiting one an event before its second is over.
//
// For a process that lives by gRPC, client or server, from before its first call to after its last
// one. Any thread but gRPC's own; one for all who hold it. With another version of gRPC, of whose
// threads nothing is known here, it does nothing.
#pragma once

#include <memory>

namespace sandkeep {

class SinglePoller;

std::shared_ptr<const SinglePoller> HoldSinglePoller();

}  // namespace sandkeep
