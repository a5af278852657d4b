#include "agent/peer_listener/hangup_watch.h"

#include <fcntl.h>
#include <sys/epoll.h>

#include <array>
#include <cerrno>
#include <utility>

#include "common/status_codes.h"

namespace sandkeep {

absl::StatusOr<std::shared_ptr<HangupWatch>> HangupWatch::Make(
    boost::asio::any_io_executor strand) {
  const int epoll = ::epoll_create1(EPOLL_CLOEXEC);
  if (epoll < 0) return ErrnoStatus(errno, "epoll_create1");
  std::shared_ptr<HangupWatch> watch(new HangupWatch(std::move(strand), epoll));
  watch->WaitForNext();
  return watch;
}

absl::Status HangupWatch::Add(int connection, std::function<void()> ended) {
  UniqueFd own(::fcntl(connection, F_DUPFD_CLOEXEC, 0));
  if (!own) return ErrnoStatus(errno, "fcntl");
  // EPOLLHUP needs no asking for.
  struct epoll_event event = {};
  event.data.fd = own.get();
  if (::epoll_ctl(epoll_.native_handle(), EPOLL_CTL_ADD, own.get(), &event) != 0) {
    return ErrnoStatus(errno, "epoll_ctl");
  }
  const int fd = own.get();
  watched_.insert_or_assign(fd, Watched{std::move(own), std::move(ended)});
  return absl::OkStatus();
}

void HangupWatch::Stop() {
  boost::system::error_code ignored;
  epoll_.close(ignored);
  watched_.clear();
}

void HangupWatch::WaitForNext() {
  auto woken = [self = shared_from_this()](boost::system::error_code error) {
    if (error || !self->epoll_.is_open()) return;
    self->Collect();
    self->WaitForNext();
  };
  epoll_.async_wait(boost::asio::posix::descriptor_base::wait_read, std::move(woken));
}

void HangupWatch::Collect() {
  std::array<struct epoll_event, 64> events;
  const int count = ::epoll_wait(epoll_.native_handle(), events.data(), events.size(), 0);
  for (int i = 0; i < count; ++i) {
    // The descriptor leaves the set only by this call: the connection itself may stay open for a
    // while in gRPC's hands.
    ::epoll_ctl(epoll_.native_handle(), EPOLL_CTL_DEL, events[i].data.fd, nullptr);
    auto node = watched_.extract(events[i].data.fd);
    if (!node.empty()) node.mapped().ended();
  }
}

}  // namespace sandkeep
