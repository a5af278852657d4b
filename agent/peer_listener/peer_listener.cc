#include "agent/peer_listener/peer_listener.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <cerrno>
#include <chrono>
#include <unordered_map>
#include <utility>

#include "agent/peer_listener/hangup_watch.h"
#include "agent/peer_listener/unix_socket.h"
#include "common/limits.h"
#include "common/log.h"
#include "common/status_codes.h"
#include "common/status_macros.h"

namespace sandkeep {
namespace {

namespace asio = boost::asio;

// A stranger in a loop fills no journal: one line a second, with how many it stands for.
class RefusalLog {
 public:
  void Refused(const ucred& peer, std::string_view why) {
    ++unsaid_;
    const auto now = std::chrono::steady_clock::now();
    if (now < next_) return;
    next_ = now + std::chrono::seconds(1);
    Log(Severity::kWarning, "peer.refused",
        {{"uid", peer.uid}, {"pid", peer.pid}, {"why", why}, {"count", std::exchange(unsaid_, 0)}});
  }

 private:
  int unsaid_ = 0;
  std::chrono::steady_clock::time_point next_;
};

class Listener : public PeerListener, public std::enable_shared_from_this<Listener> {
 public:
  Listener(asio::any_io_executor strand, UniqueFd socket, std::string path,
           std::vector<PeerRoute> routes, std::shared_ptr<HangupWatch> hangups)
      : socket_(strand, socket.Release()),
        pause_(strand),
        strand_(std::move(strand)),
        path_(std::move(path)),
        hangups_(std::move(hangups)) {
    for (PeerRoute& route : routes) seats_[route.uid].take = std::move(route.take);
    struct stat info;
    if (::lstat(path_.c_str(), &info) == 0) inode_ = info.st_ino;
  }

  void Begin() {
    asio::post(strand_, [self = shared_from_this()] { self->WaitForNext(); });
  }

  void Stop() override {
    asio::dispatch(strand_, [self = shared_from_this()] { self->Close(); });
  }

 private:
  // One listed user.
  struct Seat {
    std::function<void(UniqueFd)> take;
    int connections = 0;
  };

  void Close() {
    if (!socket_.is_open()) return;
    boost::system::error_code ignored;
    socket_.close(ignored);
    pause_.cancel();
    hangups_->Stop();
    // By then the path may be a successor's.
    struct stat info;
    if (::lstat(path_.c_str(), &info) == 0 && info.st_ino == inode_) ::unlink(path_.c_str());
  }

  void WaitForNext() {
    if (!socket_.is_open()) return;
    auto woken = [self = shared_from_this()](boost::system::error_code error) {
      if (!error) self->AcceptSome();
    };
    socket_.async_wait(asio::posix::descriptor_base::wait_read, std::move(woken));
  }

  // A bounded turn, so that a flood of connections doesn't keep the strand.
  void AcceptSome() {
    for (int i = 0; i < kAcceptTurn && socket_.is_open(); ++i) {
      UniqueFd connection(
          ::accept4(socket_.native_handle(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
      if (connection) {
        Admit(std::move(connection));
        continue;
      }
      if (errno == EAGAIN) break;
      if (errno == EINTR || errno == ECONNABORTED) continue;
      return Pause(ErrnoStatus(errno, "accept"));
    }
    WaitForNext();
  }

  // Nobody's fault but a full house: what waits in the backlog is served when there is room again.
  void Pause(const absl::Status& why) {
    Log(Severity::kError, "peer.accept_paused", {{"why", why}});
    pause_.expires_after(kAcceptPause);
    auto woken = [self = shared_from_this()](boost::system::error_code error) {
      if (!error) self->WaitForNext();
    };
    pause_.async_wait(std::move(woken));
  }

  void Admit(UniqueFd connection) {
    ucred peer = {};
    socklen_t size = sizeof(peer);
    if (::getsockopt(connection.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return;
    const auto found = seats_.find(peer.uid);
    if (found == seats_.end()) return refusals_.Refused(peer, "not listed");
    Seat& seat = found->second;
    if (seat.connections >= kMaxConnectionsPerUid) {
      return refusals_.Refused(peer, "too many connections");
    }
    // Seats outlive the watch, which stops with us.
    auto ended = [&seat] { --seat.connections; };
    if (const absl::Status watched = hangups_->Add(connection.get(), std::move(ended));
        !watched.ok()) {
      return refusals_.Refused(peer, "no descriptors");
    }
    ++seat.connections;
    Log(Severity::kDebug, "peer.connected", {{"uid", peer.uid}, {"pid", peer.pid}});
    seat.take(std::move(connection));
  }

  static constexpr int kAcceptTurn = 64;

  asio::posix::stream_descriptor socket_;
  asio::steady_timer pause_;
  const asio::any_io_executor strand_;
  const std::string path_;
  ino_t inode_ = 0;
  const std::shared_ptr<HangupWatch> hangups_;
  std::unordered_map<uid_t, Seat> seats_;
  RefusalLog refusals_;
};

}  // namespace

absl::StatusOr<std::shared_ptr<PeerListener>> ListenForPeers(asio::any_io_executor executor,
                                                             const std::string& path, int type,
                                                             std::optional<gid_t> group,
                                                             std::vector<PeerRoute> routes) {
  const asio::any_io_executor strand = asio::make_strand(executor);
  ASSIGN_OR_RETURN(std::shared_ptr<HangupWatch> hangups, HangupWatch::Make(strand));
  absl::StatusOr<UniqueFd> socket = BindUnixSocket(path, type, group);
  if (!socket.ok()) {
    hangups->Stop();
    return socket.status();
  }
  auto listener = std::make_shared<Listener>(strand, *std::move(socket), path, std::move(routes),
                                             std::move(hangups));
  listener->Begin();
  return listener;
}

}  // namespace sandkeep
