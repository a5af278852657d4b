// How a connection's answer is written.

#include <fcntl.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <charconv>
#include <tuple>
#include <utility>

#include "common/run_on.h"
#include "gateway/http/connection.h"
#include "gateway/http/file_turn.h"

namespace sandkeep::http {
namespace {

namespace asio = boost::asio;
using ErrorCode = boost::system::error_code;

constexpr auto kUseTuple = asio::as_tuple(asio::use_awaitable);

// Leaves what follows the first `done` bytes.
template <typename Buffers>
void DropFront(Buffers* buffers, std::size_t done) {
  for (asio::const_buffer& buffer : *buffers) {
    const std::size_t taken = std::min(done, buffer.size());
    buffer += taken;
    done -= taken;
  }
}

}  // namespace

asio::awaitable<void> Connection::Send(Response response) {
  const bool bodiless = response.status == 204 || response.status == 304;
  framing_ = FramingFor(response.body.size());
  if (bodiless) framing_.kind = Framing::Kind::kNone;
  const std::string head = HeadOf(&response);
  Buffers buffers = {asio::buffer(head)};
  if (!bodiless && request().method != "HEAD") buffers[1] = asio::buffer(response.body);
  const bool written = co_await WriteAll(buffers);
  if (written) answer_ = Answer::kWhole;
}

std::string Connection::HeadOf(Response* response) {
  // A year. Only what came by TLS may say it.
  if (stream_.secure()) {
    response->headers.push_back({"Strict-Transport-Security", "max-age=31536000"});
  }
  return ResponseHead(*response, request().origin, framing_);
}

Framing Connection::FramingFor(std::optional<std::int64_t> length) {
  if (length.has_value()) {
    return {.kind = Framing::Kind::kLength, .length = *length, .close = closing()};
  }
  if (!request().http_1_0) return {.kind = Framing::Kind::kChunked, .close = closing()};
  request_keeps_alive_ = false;
  return {.kind = Framing::Kind::kUntilClose, .close = true};
}

asio::awaitable<bool> Connection::Begin(Response response, std::optional<std::int64_t> length) {
  framing_ = FramingFor(length);
  answer_ = Answer::kBegun;
  const std::string head = HeadOf(&response);
  Buffers buffers = {asio::buffer(head)};
  // One packet instead of two.
  const bool together = framing_.kind != Framing::Kind::kChunked;
  if (together && request().method != "HEAD") buffers[1] = asio::buffer(response.body);
  const bool written = co_await WriteAll(buffers);
  if (written && request().method == "HEAD") answer_ = Answer::kWhole;
  if (!written || together || response.body.empty()) co_return written;
  co_return co_await Write(response.body);
}

asio::awaitable<bool> Connection::Write(std::string_view part) {
  if (part.empty()) co_return open_;
  if (framing_.kind != Framing::Kind::kChunked) {
    const Buffers buffers = {asio::buffer(part)};
    co_return co_await WriteAll(buffers);
  }
  std::array<char, 20> size_line;
  char* end = std::to_chars(size_line.data(), size_line.data() + 16, part.size(), 16).ptr;
  *end++ = '\r';
  *end++ = '\n';
  const Buffers buffers = {
      asio::buffer(size_line.data(), static_cast<std::size_t>(end - size_line.data())),
      asio::buffer(part), asio::buffer(std::string_view("\r\n"))};
  co_return co_await WriteAll(buffers);
}

asio::awaitable<FileWritten> Connection::WriteFile(FilePart part, asio::any_io_executor threads) {
  // The connection may be closed while a turn is under way: the number must stay this socket's.
  const auto socket = std::make_shared<const UniqueFd>(
      open_ ? ::fcntl(stream_.socket().native_handle(), F_DUPFD_CLOEXEC, 0) : -1);
  SetDeadline(patience_.value_or(timing_.write));
  const Stream::FullPackets full_packets(&stream_);
  while (part.length > 0) {
    if (!open_ || !socket->valid()) co_return FileWritten::kGone;
    auto send = [socket, part] {
      return SendFileTurn(socket->get(), part.file->get(), part.offset, part.length);
    };
    auto sending = RunOn(threads, std::move(send));
    const FileTurn turn = co_await std::move(sending);
    part.offset += turn.sent;
    part.length -= turn.sent;
    if (turn.failed) Close();
    if (turn.ended) co_return FileWritten::kCut;
    if (turn.sent > 0) SetDeadline(patience_.value_or(timing_.write));
    if (!turn.full || !open_) continue;
    co_await stream_.socket().async_wait(Stream::Socket::wait_write, kUseTuple);
  }
  if (!patience_.has_value()) ClearDeadline();
  co_return FileWritten::kWhole;
}

asio::awaitable<void> Connection::End() {
  if (framing_.kind == Framing::Kind::kChunked) {
    const Buffers buffers = {asio::buffer(std::string_view("0\r\n\r\n"))};
    const bool written = co_await WriteAll(buffers);
    if (!written) co_return;
  }
  if (open_) answer_ = Answer::kWhole;
}

// Sockets mostly have room: then there is no need to wait, nor to set a deadline.
asio::awaitable<bool> Connection::WriteAll(Buffers buffers) {
  if (!open_) co_return false;
  ErrorCode error;
  const std::size_t written = stream_.write_some(buffers, error);
  if (error && error != asio::error::would_block && error != asio::error::try_again) {
    Close();
    co_return false;
  }
  DropFront(&buffers, written);
  if (asio::buffer_size(buffers) > 0) {
    SetDeadline(timing_.write);
    const auto result = co_await asio::async_write(stream_, buffers, kUseTuple);
    if (std::get<0>(result)) {
      Close();
      co_return false;
    }
    if (!patience_.has_value()) ClearDeadline();
  }
  if (patience_.has_value()) SetDeadline(*patience_);
  co_return true;
}

}  // namespace sandkeep::http
