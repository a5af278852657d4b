#include "gateway/http/server.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <tuple>
#include <utility>
#include <vector>

#include "common/async.h"
#include "common/log.h"
#include "common/status_codes.h"
#include "common/strings.h"
#include "gateway/http/connection.h"
#include "gateway/http/listen_address.h"

namespace sandkeep::http {
namespace {

namespace asio = boost::asio;
using ErrorCode = boost::system::error_code;
using Tcp = asio::ip::tcp;

constexpr auto kUseTuple = asio::as_tuple(asio::use_awaitable);

}  // namespace

absl::StatusOr<Server::Acceptor> Server::Listen(asio::io_context& io, std::string host,
                                                std::uint16_t port) {
  const absl::StatusOr<Tcp::endpoint> endpoint = ListenAddress(host, port);
  if (!endpoint.ok()) return endpoint.status();
  ErrorCode error;
  // Its own strand: Drain closes it from another thread.
  Acceptor acceptor(asio::make_strand(io));
  acceptor.open(endpoint->protocol(), error);
  if (!error) acceptor.set_option(Acceptor::reuse_address(true), error);
  if (!error) acceptor.bind(*endpoint, error);
  if (!error) acceptor.listen(Acceptor::max_listen_connections, error);
  if (error) {
    return ErrnoStatus(error.value(), StrCat("listening on ", host, " port ", port));
  }
  return acceptor;
}

Server::Server(asio::io_context& io, Acceptor acceptor, Router& router, Options options)
    : io_(io),
      acceptor_(std::move(acceptor)),
      pause_(acceptor_.get_executor()),
      drain_timer_(acceptor_.get_executor()),
      router_(router),
      options_(std::move(options)) {}

Server::~Server() = default;

std::string Server::address() const {
  ErrorCode ignored;
  const Tcp::endpoint endpoint = acceptor_.local_endpoint(ignored);
  const bool v6 = endpoint.address().is_v6();
  return StrCat(v6 ? "[" : "", endpoint.address().to_string(), v6 ? "]" : "", ":", endpoint.port());
}

std::uint16_t Server::port() const {
  ErrorCode ignored;
  return acceptor_.local_endpoint(ignored).port();
}

void Server::Start() { Spawn(acceptor_.get_executor(), "http.accept", Accept()); }

asio::awaitable<void> Server::Accept() {
  bool complained = false;
  while (acceptor_.is_open()) {
    if (IsFull() && !connections_.HasDispensable()) {
      co_await Pause();
      continue;
    }
    const asio::any_io_executor own = ExecutorForOne();
    auto accepted = co_await acceptor_.async_accept(own, kUseTuple);
    const ErrorCode error = std::get<0>(accepted);
    if (!error) {
      complained = false;
      if (IsFull()) MakeRoom();
      Add(std::move(std::get<1>(accepted)));
      continue;
    }
    if (!acceptor_.is_open()) co_return;
    // A client that left before it was accepted is no reason to wait.
    if (error == asio::error::connection_aborted) continue;
    if (!complained) Log(Severity::kWarning, "http.accept", {{"why", error.message()}});
    complained = true;
    co_await Pause();
  }
}

// A strand costs every step of a connection a second turn in the queue.
asio::any_io_executor Server::ExecutorForOne() {
  if (options_.one_thread) return io_.get_executor();
  return asio::make_strand(io_);
}

bool Server::IsFull() const { return connections() >= options_.max_connections; }

void Server::MakeRoom() {
  const std::shared_ptr<Connection> dispensable = connections_.TakeDispensable();
  if (dispensable != nullptr) dispensable->Cut();
}

asio::awaitable<void> Server::Pause() {
  pause_.expires_after(kAcceptPause);
  [[maybe_unused]] const auto waited = co_await pause_.async_wait(kUseTuple);
}

void Server::Add(Tcp::socket socket) {
  // The map's key outlives the connection by a moment at most: it is never dereferenced.
  const auto key = std::make_shared<const Connection*>(nullptr);
  auto ended = [this, key] { Remove(*key); };
  const auto tls = options_.tls != nullptr ? options_.tls->Current() : nullptr;
  const auto connection = std::make_shared<Connection>(std::move(socket), tls, router_,
                                                       options_.timing, std::move(ended));
  *key = connection.get();
  connections_.Add(connection);
  bool draining = false;
  {
    const std::lock_guard lock(mutex_);
    draining = draining_;
  }
  auto start = [connection] { connection->Start(); };
  asio::dispatch(connection->executor(), std::move(start));
  if (draining) connection->Drain();
}

void Server::Remove(const Connection* connection) {
  const std::size_t left = connections_.Remove(connection);
  std::function<void()> drained;
  {
    const std::lock_guard lock(mutex_);
    if (draining_ && left == 0) drained = std::exchange(drained_, nullptr);
  }
  if (drained) drained();
}

int Server::connections() const { return static_cast<int>(connections_.size()); }

void Server::ForEach(void (Connection::*action)()) {
  for (const std::shared_ptr<Connection>& connection : connections_.All()) {
    ((*connection).*action)();
  }
}

void Server::Drain(std::chrono::steady_clock::duration deadline, std::function<void()> drained) {
  auto drain = [this, deadline, drained = std::move(drained)]() mutable {
    ErrorCode ignored;
    acceptor_.close(ignored);
    pause_.cancel();
    bool none = false;
    {
      const std::lock_guard lock(mutex_);
      draining_ = true;
      none = connections_.size() == 0;
      if (!none) drained_ = std::move(drained);
    }
    if (none) return drained();
    ForEach(&Connection::Drain);
    drain_timer_.expires_after(deadline);
    drain_timer_.async_wait([this](const ErrorCode& error) {
      if (!error) ForEach(&Connection::Cut);
    });
  };
  asio::dispatch(acceptor_.get_executor(), std::move(drain));
}

}  // namespace sandkeep::http
