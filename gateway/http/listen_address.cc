#include "gateway/http/listen_address.h"

#include <boost/asio/ip/address.hpp>

#include "common/strings.h"

namespace sandkeep::http {

namespace ip = boost::asio::ip;

absl::StatusOr<ip::tcp::endpoint> ListenAddress(std::string host, std::uint16_t port) {
  if (host == "localhost") host = "127.0.0.1";
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  }
  boost::system::error_code error;
  const ip::address address = ip::make_address(host, error);
  if (error) {
    return absl::InvalidArgumentError(
        StrCat("SANDBOX_HOST: `", host, "` is not an address; 127.0.0.1 and 0.0.0.0 are"));
  }
  return ip::tcp::endpoint(address, port);
}

}  // namespace sandkeep::http
