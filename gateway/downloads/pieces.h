// Part of an answer in pieces of which each must be taken within the connection's patience.
#pragma once

#include <algorithm>
#include <string_view>

#include "common/limits.h"
#include "gateway/http/exchange.h"

namespace sandkeep {

// False: the client is gone. `data` must stay until the end.
inline boost::asio::awaitable<bool> WriteInPieces(http::Exchange& exchange, std::string_view data) {
  while (!data.empty()) {
    const bool written = co_await exchange.Write(data.substr(0, kHttpPieceBytes));
    if (!written) co_return false;
    data.remove_prefix(std::min(data.size(), kHttpPieceBytes));
  }
  co_return true;
}

}  // namespace sandkeep
