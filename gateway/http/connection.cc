#include "gateway/http/connection.h"

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <exception>
#include <string>
#include <tuple>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "common/log.h"
#include "common/strings.h"
#include "gateway/http/source.h"

namespace sandkeep::http {
namespace {

namespace asio = boost::asio;
using ErrorCode = boost::system::error_code;
using Steady = std::chrono::steady_clock;

constexpr auto kUseTuple = asio::as_tuple(asio::use_awaitable);

// Empty: the client is gone already.
std::string AddressOf(const asio::ip::tcp::socket& socket) {
  ErrorCode error;
  const auto endpoint = socket.remote_endpoint(error);
  return error ? "" : endpoint.address().to_string();
}

}  // namespace

Connection::Connection(Stream::Socket socket, const std::shared_ptr<asio::ssl::context>& tls,
                       Router& router, const Timing& timing, std::function<void()> ended)
    : stream_(std::move(socket), tls),
      router_(router),
      timing_(timing),
      ended_(std::move(ended)),
      peer_(AddressOf(stream_.socket())),
      source_(SourceOf(peer_)),
      arrived_(stream_.get_executor(), Steady::time_point::max()),
      watchdog_(stream_.get_executor()) {}

void Connection::Start() {
  stream_.Prepare();
  auto finished = [self = shared_from_this()](std::exception_ptr error) {
    self->Close();
    self->ended_();
    // The coroutine still has its cancellation state in abort_: it must have come to its end first.
    asio::post(self->stream_.get_executor(), [self] {});
    if (!error) return;
    try {
      std::rethrow_exception(error);
    } catch (const boost::system::system_error& e) {
      // Cancelled by the watchdog or by Cut: how such a connection is meant to end.
      if (e.code() == asio::error::operation_aborted) return;
      Log(Severity::kError, "connection.failed", {{"what", e.what()}});
    } catch (const std::exception& e) {
      Log(Severity::kError, "connection.failed", {{"what", e.what()}});
    }
  };
  asio::co_spawn(stream_.get_executor(), Run(),
                 asio::bind_cancellation_slot(abort_.slot(), std::move(finished)));
}

void Connection::Drain() {
  asio::dispatch(stream_.get_executor(), [self = shared_from_this()] {
    self->draining_ = true;
    if (!self->in_request_) self->Close();
  });
}

void Connection::Cut() {
  asio::dispatch(stream_.get_executor(), [self = shared_from_this()] {
    self->Close();
    self->abort_.emit(asio::cancellation_type::terminal);
  });
}

asio::awaitable<void> Connection::Run() {
  SetDeadline(timing_.header);
  ArmWatchdog();
  const bool understood = co_await stream_.Handshake();
  while (understood) {
    const bool more = co_await ServeOne();
    if (!more) break;
    // A read that a watch began still has its hands on the buffer.
    if (!reading_) input_.Shrink();
    SetDeadline(timing_.idle);
  }
  if (open_) co_await Linger();
}

asio::awaitable<bool> Connection::ServeOne() {
  parser_.Reset();
  in_request_ = false;
  const bool has_head = co_await ReadHead();
  if (!has_head) co_return false;
  in_request_ = true;
  answer_ = Answer::kNone;
  patience_.reset();
  request_keeps_alive_ = false;
  if (parser_.stage() == RequestParser::Stage::kRefused) {
    co_await Refuse();
    co_return false;
  }
  parser_.request().peer = peer_;
  parser_.request().secure = stream_.secure();
  Admission admission = router_.Admit(parser_.request());
  ParseWhatIsThere();
  if (admission.answer.has_value()) {
    if (BodyIsShort()) {
      const bool read = co_await ReadBody();
      if (!read) co_return false;
    }
    request_keeps_alive_ = request().keep_alive && parser_.stage() == RequestParser::Stage::kDone;
    co_await Send(*std::move(admission.answer));
    co_return open_ && !closing();
  }
  continued_ = false;
  if (!admission.handler->streams_bodies()) {
    const bool has_body = co_await ReadBody();
    if (!has_body) co_return false;
  }
  request_keeps_alive_ = request().keep_alive && parser_.stage() == RequestParser::Stage::kDone;
  ClearDeadline();
  serving_ = true;
  co_await admission.handler->Handle(*this);
  serving_ = false;
  gone_ = nullptr;
  // Not answered to its end: the client must see that it isn't whole.
  if (answer_ != Answer::kWhole) Close();
  co_return open_ && !closing();
}

// Worth reading although nobody wants it: the connection can go on.
bool Connection::BodyIsShort() {
  const std::string* length = request().Find("content-length");
  std::size_t bytes = 0;
  return parser_.stage() == RequestParser::Stage::kBody && length != nullptr &&
         absl::SimpleAtoi(*length, &bytes) && bytes <= kHttpPieceBytes &&
         request().Find("expect") == nullptr;
}

void Connection::ParseWhatIsThere() {
  while (parser_.stage() == RequestParser::Stage::kHead ||
         parser_.stage() == RequestParser::Stage::kBody) {
    const std::size_t taken = parser_.Feed(input_.unread());
    if (taken == 0) return;
    input_.Consume(taken);
  }
}

asio::awaitable<bool> Connection::ReadHead() {
  bool begun = false;
  for (;;) {
    const std::size_t taken = parser_.Feed(input_.unread());
    input_.Consume(taken);
    if (parser_.stage() != RequestParser::Stage::kHead) co_return true;
    if (draining_) co_return false;
    if (!begun && !input_.empty()) {
      begun = true;
      SetDeadline(timing_.header);
    }
    const bool more = co_await ReadMore();
    if (!more) co_return false;
  }
}

asio::awaitable<bool> Connection::ReadBody() {
  if (parser_.stage() == RequestParser::Stage::kBody && !BodyIsTooLarge()) {
    SetDeadline(timing_.body);
    const bool continued = co_await SendContinue();
    if (!continued) co_return false;
  }
  while (parser_.stage() == RequestParser::Stage::kBody && !BodyIsTooLarge()) {
    const bool more = co_await ReadMore();
    if (!more) co_return false;
    ParseWhatIsThere();
  }
  if (parser_.stage() == RequestParser::Stage::kDone && !BodyIsTooLarge()) co_return true;
  co_await Refuse();
  co_return false;
}

// For a handler that wants it whole. Known from the head where there is a length.
bool Connection::BodyIsTooLarge() {
  const std::string* length = request().Find("content-length");
  std::uint64_t bytes = 0;
  const bool announced =
      length != nullptr && (!absl::SimpleAtoi(*length, &bytes) || bytes > kMaxBodyBytes);
  if (announced || request().body.size() > kMaxBodyBytes) parser_.RefuseBody();
  return parser_.stage() == RequestParser::Stage::kRefused;
}

asio::awaitable<std::optional<std::string>> Connection::ReadPart() {
  if (parser_.stage() == RequestParser::Stage::kBody && !std::exchange(continued_, true)) {
    const bool continued = co_await SendContinue();
    if (!continued) co_return std::nullopt;
  }
  ParseWhatIsThere();
  while (parser_.stage() == RequestParser::Stage::kBody && request().body.empty()) {
    SetDeadline(timing_.body);
    const bool more = co_await ReadMore();
    if (!more) co_return std::nullopt;
    ParseWhatIsThere();
  }
  if (parser_.stage() == RequestParser::Stage::kRefused) co_return std::nullopt;
  if (parser_.stage() == RequestParser::Stage::kDone) request_keeps_alive_ = request().keep_alive;
  ClearDeadline();
  co_return std::exchange(request().body, std::string());
}

asio::awaitable<bool> Connection::SendContinue() {
  const std::string* expect = request().Find("expect");
  if (expect == nullptr || !absl::EqualsIgnoreCase(*expect, "100-continue")) co_return true;
  constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
  const Buffers buffers = {asio::buffer(kContinue)};
  const bool written = co_await WriteAll(buffers);
  SetDeadline(timing_.body);
  co_return written;
}

asio::awaitable<void> Connection::Refuse() {
  const RequestParser::Refusal& refusal = parser_.refusal();
  Response response = ErrorResponse(refusal.status, "invalid_request", refusal.reason);
  co_await Send(std::move(response));
}

asio::awaitable<bool> Connection::ReadMore() {
  if (reading_) {
    const std::size_t before = input_.unread().size();
    while (reading_) {
      arrived_.expires_at(Steady::time_point::max());
      [[maybe_unused]] const auto woken = co_await arrived_.async_wait(kUseTuple);
    }
    if (input_.unread().size() > before) co_return true;
  }
  if (at_end_ || !open_) co_return false;
  const InputBuffer::Space space = input_.Prepare();
  // Nothing that the parser waits for is as long as the buffer; a read into no room ends at once,
  // again and again.
  if (space.size == 0) co_return false;
  const auto result =
      co_await stream_.async_read_some(asio::buffer(space.data, space.size), kUseTuple);
  at_end_ = static_cast<bool>(std::get<0>(result));
  input_.Commit(std::get<1>(result));
  co_return !at_end_;
}

// So that the client reads our last answer: closing with its bytes unread would reset it.
asio::awaitable<void> Connection::Linger() {
  SetDeadline(timing_.linger);
  co_await stream_.EndWriting();
  std::size_t dropped = 0;
  while (dropped < kMaxLingerBytes) {
    dropped += input_.unread().size();
    input_.Consume(input_.unread().size());
    const bool more = co_await ReadMore();
    if (!more) co_return;
  }
}

void Connection::SetPatience(Steady::duration patience) {
  patience_ = patience;
  SetDeadline(patience);
}

void Connection::WatchForClose(std::function<void()> gone) {
  if (at_end_) return gone();
  gone_ = std::move(gone);
  if (reading_) return;
  input_.ShrinkToWatch();
  StartReading();
}

// Reads what the client pipelines meanwhile, too: it isn't lost, and only so is the end seen. With
// a full buffer the watch ends; then the next write finds out.
void Connection::StartReading() {
  const InputBuffer::Space space = input_.Prepare();
  if (space.size == 0) return;
  reading_ = true;
  auto arrived = [self = shared_from_this()](const ErrorCode& error, std::size_t bytes) {
    self->reading_ = false;
    self->at_end_ = static_cast<bool>(error);
    self->ReadInBackground(bytes);
  };
  stream_.async_read_some(asio::buffer(space.data, space.size), std::move(arrived));
}

void Connection::ReadInBackground(std::size_t bytes) {
  input_.Commit(bytes);
  arrived_.cancel();
  if (!gone_) return;
  if (!at_end_) return StartReading();
  const std::function<void()> gone = std::exchange(gone_, nullptr);
  gone();
}

void Connection::SetDeadline(Steady::duration from_now) {
  deadline_ = Steady::now() + from_now;
  // Later is noticed when the timer fires; earlier needs another one.
  if (deadline_ < watchdog_.expiry()) watchdog_.cancel();
}

void Connection::ClearDeadline() { deadline_ = Steady::time_point::max(); }

void Connection::ArmWatchdog() {
  // A cleared deadline may be set again before: the timer looks once in a while.
  watchdog_.expires_at(std::min(deadline_, Steady::now() + timing_.idle));
  auto fired = [weak = weak_from_this()](const ErrorCode&) {
    const std::shared_ptr<Connection> self = weak.lock();
    if (!self || !self->open_) return;
    if (Steady::now() < self->deadline_) return self->ArmWatchdog();
    self->Cut();
  };
  watchdog_.async_wait(std::move(fired));
}

void Connection::Close() {
  if (!open_) return;
  open_ = false;
  ErrorCode ignored;
  stream_.socket().close(ignored);
  watchdog_.cancel();
}

}  // namespace sandkeep::http
