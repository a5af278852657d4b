// The link itself. For init_link.cc and its own files: others see InitLink.
//
// Handlers hold on to it; the one who owns it may let go at any time (Close). On the sandbox's
// strand.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/init_link/init_jobs.h"
#include "agent/init_link/init_link.h"
#include "agent/init_link/outbox.h"
#include "common/frame_socket.h"
#include "sandkeep/init/v1/init.pb.h"

namespace sandkeep {

// How many frames that change nothing init may still send in this second.
class IdleBudget {
 public:
  bool Spend() {
    const auto now = std::chrono::steady_clock::now();
    if (now - since_ >= std::chrono::seconds(1)) {
      since_ = now;
      left_ = kMaxIdleInitFrames;
    }
    return --left_ >= 0;
  }

 private:
  std::chrono::steady_clock::time_point since_{};
  int left_ = kMaxIdleInitFrames;
};

class Channel : public std::enable_shared_from_this<Channel> {
 public:
  Channel(boost::asio::any_io_executor strand, RunningContainer container, InitEvents& events,
          Random& random, std::chrono::milliseconds hello_deadline)
      : pidfd_(std::move(container.init_pidfd)),
        channel_(std::move(container.channel)),
        events_(&events),
        epoch_(random.Bytes(JobId::kBytes)),
        hello_deadline_(hello_deadline),
        strand_(strand),
        descriptor_(strand),
        greeting_(strand) {}
  ~Channel() { Release(); }

  Async<std::vector<InitJob>> Hello();
  void Listen();
  absl::Status Start(InitStart start);
  absl::Status StandBy(InitStandby shell);
  absl::Status Use(const JobId& standby, const JobId& id);
  absl::Status Tell(const init::v1::ToInit& message, const JobId* id);
  absl::Status Forget(const JobId& id);
  absl::Status Freeze(const init::v1::ToInit& message);

  void Close() {
    events_ = nullptr;
    Release();
  }

 private:
  enum class Phase { kNew, kGreeting, kGreeted, kListening, kClosed };

  absl::Status Open();
  absl::Status DrainStale();
  absl::StatusOr<std::vector<InitJob>> TakeJobs();
  void Release();
  void Break(absl::Status why);

  absl::Status Begin(const JobId& id, std::vector<OutFrame> frames);
  absl::Status Send(std::vector<OutFrame> frames);
  void WaitWritable();
  void WaitReadable();
  void ReadTurn();
  absl::Status Receive(int limit, bool* more);
  absl::Status Handle(const Frame& frame);
  absl::Status Greeted(const init::v1::FromInit& message);
  absl::Status Dispatch(const init::v1::FromInit& message);
  absl::Status OnRefused(const init::v1::Refused& refused);
  absl::Status OnIdle();
  bool reading() const { return phase_ == Phase::kGreeting || phase_ == Phase::kListening; }

  UniqueFd pidfd_;
  UniqueFd channel_;
  InitEvents* events_;
  std::string epoch_;
  std::chrono::milliseconds hello_deadline_;
  boost::asio::any_io_executor strand_;
  boost::asio::posix::stream_descriptor descriptor_;
  // Cancelled when the greeting is over, either way.
  boost::asio::steady_timer greeting_;

  Phase phase_ = Phase::kNew;
  std::optional<FrameSocket> socket_;
  Outbox outbox_;
  InitJobs jobs_;
  IdleBudget idle_;
  std::vector<init::v1::JobState> named_;
  absl::Status broken_;
  int stale_ = 0;
  int freezes_ = 0;
  bool writing_ = false;
};

// DataLoss, in words for the log.
absl::Status InitLied(std::string_view what);

}  // namespace sandkeep
