// Files that one peer was given a ticket for and hasn't fetched yet: each is good once, for a few
// seconds. What is fetched is the peer's; what isn't is closed when its time is over, whether or
// not anybody asks again. Thread-safe.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <chrono>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "common/async.h"
#include "common/limits.h"
#include "common/random.h"
#include "common/unique_fd.h"

namespace sandkeep {

class FileTickets : public std::enable_shared_from_this<FileTickets> {
 public:
  struct Opened {
    UniqueFd file;
    // Its sandbox isn't frozen as long as this lives.
    std::shared_ptr<void> hold;
  };

  FileTickets(const boost::asio::any_io_executor& executor, Random& random,
              std::chrono::milliseconds lifetime = kTicketLifetime)
      : strand_(boost::asio::make_strand(executor)),
        random_(random),
        lifetime_(lifetime),
        alarm_(strand_) {}

  // kTicketBytes that can't be guessed. ResourceExhausted: too many aren't fetched.
  absl::StatusOr<std::string> Issue(Opened opened);
  std::optional<Opened> Take(const std::string& ticket);

  std::chrono::milliseconds lifetime() const { return lifetime_; }

 private:
  struct Waiting {
    std::string ticket;
    std::chrono::steady_clock::time_point end;
    Opened opened;
  };
  using Line = std::list<Waiting>;

  void Await(std::chrono::steady_clock::time_point end);
  void CloseLate();

  const boost::asio::strand<boost::asio::any_io_executor> strand_;
  Random& random_;
  const std::chrono::milliseconds lifetime_;
  boost::asio::steady_timer alarm_;  // On the strand, while anything waits.

  std::mutex mutex_;
  Line line_;  // The oldest first.
  absl::flat_hash_map<std::string, Line::iterator> places_;
  bool awaited_ = false;
};

}  // namespace sandkeep
