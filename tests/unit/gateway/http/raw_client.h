// A client that sends exactly the bytes it is given and waits for no answer for ever: what tests of
// a server need and no HTTP library does. One thread.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <string>
#include <string_view>

#include "common/unique_fd.h"
#include "tests/fakes/patience.h"

namespace sandkeep {

class RawClient {
 public:
  // `from`: the last byte of its own address below 127.0.0; 0: the kernel's choice.
  explicit RawClient(std::uint16_t port, int receive_buffer = 0, std::uint8_t from = 0)
      : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const timeval patience{.tv_sec = kTestPatience.count(), .tv_usec = 0};
    ::setsockopt(fd_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    ::setsockopt(fd_.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    if (receive_buffer > 0) {
      ::setsockopt(fd_.get(), SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
    }
    const sockaddr_in own = Address(0, from);
    if (from != 0 && ::bind(fd_.get(), reinterpret_cast<const sockaddr*>(&own), sizeof own) != 0) {
      return;
    }
    const sockaddr_in server = Address(port, 1);
    connected_ =
        ::connect(fd_.get(), reinterpret_cast<const sockaddr*>(&server), sizeof server) == 0;
  }

  bool connected() const { return connected_; }
  int fd() const { return fd_.get(); }
  void Close() { fd_.Reset(); }

  RawClient& Send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) break;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return *this;
  }

  // False: the server has closed, or took too long.
  bool Receive() {
    std::array<char, 65536> piece;
    const ssize_t got = ::recv(fd_.get(), piece.data(), piece.size(), 0);
    if (got > 0) received_.append(piece.data(), static_cast<std::size_t>(got));
    closed_ = got == 0 || (got < 0 && errno == ECONNRESET);
    return got > 0;
  }

  // What came up to and with `end`; all there was if it never came.
  std::string Until(std::string_view end) {
    std::size_t at = 0;
    while ((at = received_.find(end)) == std::string::npos) {
      if (!Receive()) return Take(received_.size());
    }
    return Take(at + end.size());
  }

  std::string UntilClosed() {
    while (Receive()) {
    }
    return Take(received_.size());
  }
  // The server closed; what it said before stays to be read.
  bool closed() const { return closed_; }

  // One answer with a Content-Length, or one without a body.
  std::string Answer(bool head_only = false) {
    std::string answer = Until("\r\n\r\n");
    const std::size_t at = Lower(answer).find("content-length: ");
    if (at == std::string::npos || head_only) return answer;
    const std::size_t size = std::stoul(answer.substr(at + 16));
    while (received_.size() < size && Receive()) {
    }
    return answer + Take(std::min(size, received_.size()));
  }

  static int StatusOf(std::string_view answer) {
    return answer.size() < 12 ? 0 : std::stoi(std::string(answer.substr(9, 3)));
  }
  static std::string BodyOf(const std::string& answer) {
    const std::size_t at = answer.find("\r\n\r\n");
    return at == std::string::npos ? "" : answer.substr(at + 4);
  }
  static std::string Lower(std::string text) {
    std::transform(text.begin(), text.end(), text.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return text;
  }

 private:
  static sockaddr_in Address(std::uint16_t port, std::uint8_t last) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl((127U << 24) | last);
    return address;
  }

  std::string Take(std::size_t count) {
    std::string taken = received_.substr(0, count);
    received_.erase(0, count);
    return taken;
  }

  UniqueFd fd_;
  bool connected_ = false;
  bool closed_ = false;
  std::string received_;
};

}  // namespace sandkeep
