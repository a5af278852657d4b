// SANDBOX_HOST and SANDBOX_PORT as the address to listen at. Pure; any thread.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace sandkeep::http {

// InvalidArgument: `host` is neither an address, in brackets or not, nor localhost.
absl::StatusOr<boost::asio::ip::tcp::endpoint> ListenAddress(std::string host, std::uint16_t port);

}  // namespace sandkeep::http
