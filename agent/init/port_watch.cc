#include "agent/init/port_watch.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <string>

#include "agent/init/listeners.h"
#include "common/limits.h"
#include "common/strings.h"
#include "common/unique_fd.h"

namespace sandkeep::init {
namespace {

using Steady = std::chrono::steady_clock;

// Those that listen stand at the table's beginning.
std::string BeginningOf(const char* path) {
  const UniqueFd file(::open(path, O_RDONLY | O_CLOEXEC));
  std::string text;
  if (!file) return text;
  std::array<char, 4_KiB> part;
  while (text.size() < kMaxPortTableBytes) {
    const ssize_t size = ::read(file.get(), part.data(), part.size());
    if (size <= 0) break;
    text.append(part.data(), static_cast<std::size_t>(size));
  }
  return text;
}

// `1F40` after the colon of an address.
std::optional<std::uint16_t> PortOf(std::string_view address) {
  const std::size_t colon = address.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const std::string_view digits = address.substr(colon + 1);
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port, 16);
  if (error != std::errc() || end != digits.data() + digits.size() || port == 0) {
    return std::nullopt;
  }
  return port;
}

std::vector<std::uint16_t> PortsNow() {
  if (std::optional<std::vector<std::uint16_t>> ports = AskForListeners()) {
    return *std::move(ports);
  }
  std::vector<std::uint16_t> ports = ListeningPorts(BeginningOf("/proc/net/tcp"));
  const std::vector<std::uint16_t> more = ListeningPorts(BeginningOf("/proc/net/tcp6"));
  ports.insert(ports.end(), more.begin(), more.end());
  return ports;
}

std::vector<std::string_view> Words(std::string_view line) {
  std::vector<std::string_view> words = Split(line, ' ');
  std::erase(words, std::string_view());
  return words;
}

}  // namespace

std::vector<std::uint16_t> ListeningPorts(std::string_view table) {
  // `sl local_address rem_address st …`; TCP_LISTEN is 10.
  constexpr std::size_t kLocal = 1;
  constexpr std::size_t kState = 3;
  std::vector<std::uint16_t> ports;
  for (std::size_t end = table.find('\n'); end != std::string_view::npos; end = table.find('\n')) {
    const std::vector<std::string_view> words = Words(table.substr(0, end));
    table.remove_prefix(end + 1);
    if (words.size() <= kState || words[kState] != "0A") continue;
    if (const auto port = PortOf(words[kLocal])) ports.push_back(*port);
  }
  return ports;
}

void PortWatch::Wake() {
  interval_ = kFirstPortLook;
  const Steady::time_point soon = Steady::now() + interval_;
  next_ = next_ ? std::min(*next_, soon) : soon;
}

std::optional<std::chrono::milliseconds> PortWatch::UntilLook() const {
  if (!next_) return std::nullopt;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(*next_ - Steady::now());
  return std::max(left, std::chrono::milliseconds(0));
}

std::vector<std::uint16_t> PortWatch::LookIfDue(bool anything_lives) {
  std::vector<std::uint16_t> news;
  if (UntilLook() != std::chrono::milliseconds(0)) return news;
  next_.reset();
  // Not on the stack: it is small where init forks.
  const auto now = std::make_unique<Ports>();
  if (anything_lives) {
    interval_ = std::min(interval_ * 2, kLastPortLook);
    next_ = Steady::now() + interval_;
    for (const std::uint16_t port : PortsNow()) {
      const bool is_new = !known_.test(port) && !now->test(port);
      now->set(port);
      if (is_new && news.size() < kMaxPortsTold) news.push_back(port);
    }
  }
  known_ = *now;
  return news;
}

}  // namespace sandkeep::init
