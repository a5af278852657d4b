#include "agent/service/file_tickets.h"

#include <boost/asio/dispatch.hpp>
#include <iterator>
#include <utility>

#include "common/descriptor_frame.h"
#include "common/limits.h"

namespace sandkeep {

absl::StatusOr<std::string> FileTickets::Issue(Opened opened) {
  std::string ticket = random_.Bytes(kTicketBytes);
  const auto end = std::chrono::steady_clock::now() + lifetime_;
  const std::lock_guard lock(mutex_);
  if (line_.size() >= kMaxFileTickets) {
    return absl::ResourceExhaustedError("too many files were opened and not fetched");
  }
  line_.push_back(Waiting{.ticket = ticket, .end = end, .opened = std::move(opened)});
  places_.emplace(ticket, std::prev(line_.end()));
  if (!std::exchange(awaited_, true)) Await(end);
  return ticket;
}

std::optional<FileTickets::Opened> FileTickets::Take(const std::string& ticket) {
  const std::lock_guard lock(mutex_);
  const auto found = places_.find(ticket);
  if (found == places_.end()) return std::nullopt;
  const auto place = found->second;
  std::optional<Opened> opened;
  if (std::chrono::steady_clock::now() < place->end) opened = std::move(place->opened);
  places_.erase(found);
  line_.erase(place);
  return opened;
}

void FileTickets::Await(std::chrono::steady_clock::time_point end) {
  boost::asio::dispatch(strand_, [self = shared_from_this(), end] {
    self->alarm_.expires_at(end);
    self->alarm_.async_wait([weak = std::weak_ptr(self)](boost::system::error_code error) {
      const auto alive = weak.lock();
      if (!error && alive != nullptr) alive->CloseLate();
    });
  });
}

void FileTickets::CloseLate() {
  Line late;  // Closed without the lock.
  const auto now = std::chrono::steady_clock::now();
  const std::lock_guard lock(mutex_);
  while (!line_.empty() && line_.front().end <= now) {
    places_.erase(line_.front().ticket);
    late.splice(late.end(), line_, line_.begin());
  }
  awaited_ = !line_.empty();
  if (awaited_) Await(line_.front().end);
}

}  // namespace sandkeep
