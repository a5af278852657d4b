#include "gateway/http/stream.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <string>
#include <tuple>

#include "common/limits.h"
#include "gateway/http/response.h"

namespace sandkeep::http {
namespace {

namespace asio = boost::asio;

constexpr auto kUseTuple = asio::as_tuple(asio::use_awaitable);

// A client that vanished without a word is found out within a minute: a command that ends with its
// call must not run on for nobody, nor a connection be held for nobody. Whatever can't be set is as
// the host has it.
void ProbeSilentPeer(int socket) {
  const auto set = [socket](int level, int option, std::int64_t wanted) {
    const auto value = static_cast<int>(wanted);
    (void)::setsockopt(socket, level, option, &value, sizeof value);
  };
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, kSilentPeerAfter.count());
  set(IPPROTO_TCP, TCP_KEEPINTVL, kSilentPeerInterval.count());
  set(IPPROTO_TCP, TCP_KEEPCNT, kSilentPeerProbes);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, kUnackedDeadline.count());
}

// For whoever wrote http:// where https:// belongs: its request is the first thing that came.
std::string WrongScheme() {
  const Response response = ErrorResponse(400, "https_required", "this port speaks https only");
  return ResponseHead(response, "",
                      {.length = static_cast<std::int64_t>(response.body.size()), .close = true}) +
         response.body;
}

}  // namespace

void Stream::Prepare() {
  ErrorCode ignored;
  socket_.non_blocking(true, ignored);
  socket_.set_option(asio::ip::tcp::no_delay(true), ignored);
  ProbeSilentPeer(socket_.native_handle());
}

void Stream::SetCork(bool on) {
  const int value = on ? 1 : 0;
  std::ignore = ::setsockopt(socket_.native_handle(), IPPROTO_TCP, TCP_CORK, &value, sizeof value);
}

asio::awaitable<bool> Stream::Handshake() {
  if (!tls_) co_return true;
  const auto shaken = co_await tls_->async_handshake(asio::ssl::stream_base::server, kUseTuple);
  const ErrorCode error = std::get<0>(shaken);
  if (!error) co_return true;
  const bool plain =
      error.category() == asio::error::get_ssl_category() &&
      ERR_GET_REASON(static_cast<unsigned long>(error.value())) == SSL_R_HTTP_REQUEST;
  if (plain) {
    const std::string answer = WrongScheme();
    [[maybe_unused]] const auto written =
        co_await asio::async_write(socket_, asio::buffer(answer), kUseTuple);
  }
  co_return false;
}

asio::awaitable<void> Stream::EndWriting() {
  // Waits for the client's own end, within the connection's deadline.
  if (tls_) {
    [[maybe_unused]] const auto ended = co_await tls_->async_shutdown(kUseTuple);
  }
  ErrorCode ignored;
  socket_.shutdown(Socket::shutdown_send, ignored);
}

}  // namespace sandkeep::http
