// One request and the way its answer goes back: all that a handler sees of HTTP.
//
// A handler runs as part of its connection's coroutine, on the connection's strand, and calls
// everything here from there. It answers once: Send, or Begin, Write… (or WriteFile) and End. One
// that returns without having done so has its connection cut.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "common/unique_fd.h"
#include "gateway/http/request.h"
#include "gateway/http/response.h"

namespace sandkeep::http {

// What became of a file's part.
enum class FileWritten { kWhole, kCut, kGone };

// A part of a file that somebody else opened.
struct FilePart {
  std::shared_ptr<const UniqueFd> file;
  std::int64_t offset = 0;
  std::int64_t length = 0;
};

class Exchange {
 public:
  virtual ~Exchange() = default;

  virtual Request& request() = 0;

  // For a handler that streams bodies: the next part of it. Empty: that was all. nullopt: the
  // client is gone, or sends what is no body, and nobody is there to answer. An answer that is
  // given before all of it was read is the connection's last.
  virtual boost::asio::awaitable<std::optional<std::string>> ReadPart() = 0;

  // The whole answer. A HEAD gets its head.
  virtual boost::asio::awaitable<void> Send(Response response) = 0;

  // An answer in parts; `response.body` is the first of them, if it isn't empty. Without a length
  // it is chunked. False: the client is gone, and so will be all further parts. A HEAD gets its
  // head, and that is the whole answer.
  virtual boost::asio::awaitable<bool> Begin(Response response,
                                             std::optional<std::int64_t> length) = 0;
  // `part` must stay until the write has ended.
  virtual boost::asio::awaitable<bool> Write(std::string_view part) = 0;
  // As Write, of bytes that don't pass through our memory. `threads` may wait for the disk: there
  // it is sent, in turns. kCut: the file ended before; kGone: the client is gone. Only with a
  // length, and where takes_files().
  virtual boost::asio::awaitable<FileWritten> WriteFile(FilePart part,
                                                        boost::asio::any_io_executor threads) = 0;
  // Not through TLS, whose bytes are made here.
  virtual bool takes_files() const = 0;
  virtual boost::asio::awaitable<void> End() = 0;

  // The connection is cut, and the handler's coroutine cancelled, when the client takes nothing, or
  // the handler gives nothing, for so long. Not set: a handler may take any time.
  virtual void SetPatience(std::chrono::steady_clock::duration patience) = 0;

  // `gone` is called once if the client closes the connection before the handler returns.
  virtual void WatchForClose(std::function<void()> gone) = 0;
};

class Handler {
 public:
  virtual ~Handler() = default;
  virtual boost::asio::awaitable<void> Handle(Exchange& exchange) = 0;
  // Takes bodies part by part, of any size; for others the whole body is there when they are
  // called.
  virtual bool streams_bodies() const { return false; }
};

}  // namespace sandkeep::http
