// A turn among those who do something that only so many may do at once; the others wait in line.
// Thread-safe.
#pragma once

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/experimental/concurrent_channel.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <memory>
#include <utility>

#include "common/async.h"

namespace sandkeep {

class Gate {
 public:
  Gate(const boost::asio::any_io_executor& executor, int turns)
      : tokens_(executor, static_cast<std::size_t>(turns)) {
    for (int i = 0; i < turns; ++i) Give();
  }

  // Held; given back however its holder ends, also when its frame is destroyed with its executor.
  class Turn {
   public:
    explicit Turn(std::shared_ptr<Gate> gate) : gate_(std::move(gate)) {}
    ~Turn() {
      if (gate_) gate_->Give();
    }
    Turn(Turn&&) = default;
    Turn& operator=(Turn&&) = delete;

   private:
    std::shared_ptr<Gate> gate_;
  };

  // Cancelled: the caller left before there was one.
  static Async<Turn> Take(std::shared_ptr<Gate> gate) {
    const auto [error] =
        co_await gate->tokens_.async_receive(boost::asio::as_tuple(boost::asio::use_awaitable));
    if (error) co_return absl::CancelledError("the caller left");
    co_return Turn(std::move(gate));
  }

 private:
  void Give() { tokens_.try_send(boost::system::error_code()); }

  boost::asio::experimental::concurrent_channel<void(boost::system::error_code)> tokens_;
};

}  // namespace sandkeep
