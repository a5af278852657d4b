// The listening socket and the connections that came from it. Where there are as many as allowed,
// one that serves nobody makes room for the next (see connection_table.h). Accepting pauses while
// all of them serve, or the machine has no descriptors left; it never spins and never dies of a
// failed accept.
//
// Start and Drain: once each. The io_context is run by one thread or by many, as Options has it; it
// must stop before the server is destroyed.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "absl/status/statusor.h"
#include "common/limits.h"
#include "gateway/http/certificates.h"
#include "gateway/http/connection_table.h"
#include "gateway/http/router.h"
#include "gateway/http/timing.h"

namespace sandkeep::http {

class Connection;

class Server {
 public:
  struct Options {
    const Certificates* tls = nullptr;  // null: plain. Outlives the server.
    int max_connections = kMaxConnections;
    // The io_context is run by one thread alone: then connections need no strands.
    bool one_thread = false;
    Timing timing;
  };

  using Acceptor = boost::asio::ip::tcp::acceptor;

  // Who connects waits until a server starts. `host` is an address or `localhost`; port 0 is the
  // kernel's choice. InvalidArgument: `host` is no address.
  static absl::StatusOr<Acceptor> Listen(boost::asio::io_context& io, std::string host,
                                         std::uint16_t port);

  Server(boost::asio::io_context& io, Acceptor acceptor, Router& router, Options options);
  ~Server();

  // `127.0.0.1:8000`, as it came out.
  std::string address() const;
  std::uint16_t port() const;

  void Start();

  // Accepts no more, lets answers in flight finish, closes idle connections at once and the rest
  // after `deadline`. `drained` is called when no connection is left. From any thread.
  void Drain(std::chrono::steady_clock::duration deadline, std::function<void()> drained);

  int connections() const;

 private:
  boost::asio::awaitable<void> Accept();
  boost::asio::awaitable<void> Pause();
  boost::asio::any_io_executor ExecutorForOne();
  bool IsFull() const;
  void MakeRoom();
  void Add(boost::asio::ip::tcp::socket socket);
  void Remove(const Connection* connection);
  void ForEach(void (Connection::*action)());

  boost::asio::io_context& io_;
  Acceptor acceptor_;
  boost::asio::steady_timer pause_;
  boost::asio::steady_timer drain_timer_;
  Router& router_;
  const Options options_;
  ConnectionTable connections_;

  // Guards what stands below it.
  mutable std::mutex mutex_;
  bool draining_ = false;
  std::function<void()> drained_;
};

}  // namespace sandkeep::http
