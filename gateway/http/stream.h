// The bytes of one connection, plain or in TLS, with asio's own operations: what a connection does
// with its socket it does with this. On the socket's strand.
//
// A plain socket writes at once what it has room for. TLS can't (what is encrypted is sent in its
// order, whoever waits): there write_some always would block, and async_write_some does it.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <memory>
#include <optional>
#include <utility>

namespace sandkeep::http {

class Stream {
 public:
  using Socket = boost::asio::ip::tcp::socket;
  using ErrorCode = boost::system::error_code;
  using executor_type = Socket::executor_type;

  // `tls` null: plain.
  Stream(Socket socket, const std::shared_ptr<boost::asio::ssl::context>& tls)
      : socket_(std::move(socket)) {
    if (tls != nullptr) tls_.emplace(socket_, *tls);
  }

  executor_type get_executor() { return socket_.get_executor(); }
  Socket& socket() { return socket_; }
  bool secure() const { return tls_.has_value(); }

  // Before all else: what the socket is told.
  void Prepare();
  // Before the first byte. False: this client won't be talked to.
  boost::asio::awaitable<bool> Handshake();
  // After the last byte to be written.
  boost::asio::awaitable<void> EndWriting();

  // While it lives, the socket sends full packets only. What flows from a file comes in pieces, and
  // each that is sent alone wakes the client for little: a third of the rate.
  class FullPackets {
   public:
    explicit FullPackets(Stream* stream) : stream_(*stream) { stream_.SetCork(true); }
    ~FullPackets() { stream_.SetCork(false); }
    FullPackets(const FullPackets&) = delete;
    FullPackets& operator=(const FullPackets&) = delete;

   private:
    Stream& stream_;
  };

  template <typename Buffers, typename Token>
  auto async_read_some(const Buffers& buffers, Token&& token) {
    return tls_ ? tls_->async_read_some(buffers, std::forward<Token>(token))
                : socket_.async_read_some(buffers, std::forward<Token>(token));
  }
  template <typename Buffers, typename Token>
  auto async_write_some(const Buffers& buffers, Token&& token) {
    return tls_ ? tls_->async_write_some(buffers, std::forward<Token>(token))
                : socket_.async_write_some(buffers, std::forward<Token>(token));
  }
  template <typename Buffers>
  std::size_t write_some(const Buffers& buffers, ErrorCode& error) {
    if (!tls_) return socket_.write_some(buffers, error);
    error = boost::asio::error::would_block;
    return 0;
  }

 private:
  void SetCork(bool on);

  Socket socket_;
  std::optional<boost::asio::ssl::stream<Socket&>> tls_;
};

}  // namespace sandkeep::http
