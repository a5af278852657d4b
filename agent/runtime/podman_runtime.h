// The container engine, driven by podman's command line (rootless, as the agent's own user).
//
// What a call did is never read from its prose: after a failure the runtime asks what is there now,
// and goes on from that. Files on disk are written on a thread of its own, so no I/O thread waits.
// Thread-safe; outlives every call.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <memory>

#include "agent/runtime/container_runtime.h"
#include "agent/runtime/podman_options.h"

namespace sandkeep {

std::unique_ptr<ContainerRuntime> MakePodmanRuntime(const boost::asio::any_io_executor& executor,
                                                    PodmanOptions options);

}  // namespace sandkeep
