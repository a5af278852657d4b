// One client's connection: reads requests, one after the other, and has each answered before the
// next is looked at, so that pipelined ones are answered in order.
//
// A coroutine on a strand of its own, or on the only thread; it owns itself until it ends. A timer
// serves every deadline: passing it closes the socket and cancels what the coroutine waits for.
#pragma once

#include <array>
#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "gateway/http/exchange.h"
#include "gateway/http/input_buffer.h"
#include "gateway/http/request_parser.h"
#include "gateway/http/router.h"
#include "gateway/http/stream.h"
#include "gateway/http/timing.h"

namespace sandkeep::http {

class Connection final : public Exchange, public std::enable_shared_from_this<Connection> {
 public:
  // `socket`'s executor is the strand; it is encrypted by `tls`, or plain without. `ended` is
  // called once, on it.
  Connection(Stream::Socket socket, const std::shared_ptr<boost::asio::ssl::context>& tls,
             Router& router, const Timing& timing, std::function<void()> ended);

  boost::asio::any_io_executor executor() { return stream_.get_executor(); }

  // On the strand.
  void Start();
  // From any thread: the answer in flight is the last one; without one the connection closes now.
  void Drain();
  // From any thread: closes it whatever runs.
  void Cut();
  // From any thread: somebody is being served. Until a request has been let in and has come whole
  // nobody is, however much of it is there.
  bool serving() const { return serving_; }
  // Of who is connected, as one who can choose their addresses counts: IPv6 by its /64.
  const std::string& source() const { return source_; }

  // Exchange, for the handler that runs.
  Request& request() override { return parser_.request(); }
  boost::asio::awaitable<std::optional<std::string>> ReadPart() override;
  boost::asio::awaitable<void> Send(Response response) override;
  boost::asio::awaitable<bool> Begin(Response response,
                                     std::optional<std::int64_t> length) override;
  boost::asio::awaitable<bool> Write(std::string_view part) override;
  boost::asio::awaitable<FileWritten> WriteFile(FilePart part,
                                                boost::asio::any_io_executor threads) override;
  bool takes_files() const override { return !stream_.secure(); }
  boost::asio::awaitable<void> End() override;
  void SetPatience(std::chrono::steady_clock::duration patience) override;
  void WatchForClose(std::function<void()> gone) override;

 private:
  using Buffers = std::array<boost::asio::const_buffer, 3>;
  enum class Answer { kNone, kBegun, kWhole };

  boost::asio::awaitable<void> Run();
  // False: the connection is over.
  boost::asio::awaitable<bool> ServeOne();
  boost::asio::awaitable<bool> ReadHead();
  boost::asio::awaitable<bool> ReadBody();
  boost::asio::awaitable<bool> ReadMore();
  bool BodyIsTooLarge();
  boost::asio::awaitable<void> Refuse();
  boost::asio::awaitable<bool> SendContinue();
  boost::asio::awaitable<bool> WriteAll(Buffers buffers);
  boost::asio::awaitable<void> Linger();

  void ParseWhatIsThere();
  bool BodyIsShort();
  bool closing() const { return draining_ || !request_keeps_alive_; }
  Framing FramingFor(std::optional<std::int64_t> length);
  std::string HeadOf(Response* response);
  void StartReading();
  void ReadInBackground(std::size_t bytes);

  void SetDeadline(std::chrono::steady_clock::duration from_now);
  void ClearDeadline();
  void ArmWatchdog();
  void Close();

  Stream stream_;
  Router& router_;
  const Timing& timing_;
  std::function<void()> ended_;
  const std::string peer_;
  const std::string source_;

  InputBuffer input_;
  RequestParser parser_;

  // ---- Of the answer in flight ----
  Answer answer_ = Answer::kNone;
  Framing framing_;
  std::optional<std::chrono::steady_clock::duration> patience_;
  std::function<void()> gone_;
  bool request_keeps_alive_ = true;

  bool reading_ = false;  // A read that WatchForClose began is outstanding.
  bool at_end_ = false;   // The client will send no more.
  bool in_request_ = false;
  std::atomic<bool> serving_{false};
  bool continued_ = false;  // What `Expect` asked for was said.
  bool draining_ = false;
  bool open_ = true;

  boost::asio::steady_timer arrived_;  // Cancelled when the outstanding read has ended.
  boost::asio::steady_timer watchdog_;
  std::chrono::steady_clock::time_point deadline_;
  boost::asio::cancellation_signal abort_;
};

}  // namespace sandkeep::http
