// Moves what one stream of a job prints from its pipe to its spool, in turns: none longer than
// kSpliceTurnBytes, slow writers gathered for kSpliceCoalesce, the first bytes after a silence at
// once, and a wide pipe that was half full at once again. A full disk makes it wait and try again;
// nothing is lost, the writers block.
//
// On the sandbox's strand. Held by its job; after Stop the sink is never called again. While a pipe
// is full again after each turn, the turns are the disk's threads': what prints more than a disk
// takes is made to wait by the kernel, and nobody else may wait with it. So is every turn of a pipe
// that is wide, but the one of Finish.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "agent/jobs/pipe_width.h"
#include "agent/jobs/spool.h"
#include "common/unique_fd.h"

namespace sandkeep {

class PumpSink {
 public:
  virtual ~PumpSink() = default;
  virtual void OnOutput() = 0;
  // Nobody can write any more, and all is in the spool.
  virtual void OnEndOfOutput() = 0;
};

class Pump : public std::enable_shared_from_this<Pump> {
 public:
  // `name` is for the log. The sink outlives the pump or stops it.
  Pump(const boost::asio::any_io_executor& strand, boost::asio::any_io_executor disk, UniqueFd pipe,
       Spool spool, std::string name, PumpSink& sink);
  ~Pump();

  // Begins, with a pipe that was just made and a spool that isn't there yet.
  void Start() { Wait(); }
  // Begins; the spool goes on where its file ends.
  absl::Status Resume();

  // A turn now, whatever was to be waited for: the command has ended.
  void DrainNow();

  // Takes what the pipe still holds, then stops: nobody can write any more. Both wait for a turn
  // that is under way.
  void Finish();
  void Stop();

  // Keeps less from now on. It may take a turn until the disk has it.
  void Narrow(SpoolWindow window);

  std::int64_t size() const { return size_; }
  bool at_end() const { return state_ == State::kEnded; }
  // The disk takes nothing, as far as is known while another try is under way.
  bool stuck() const {
    return state_ == State::kStuck || (state_ == State::kAtDisk && complained_);
  }
  bool at_disk() const { return state_ == State::kAtDisk; }
  // That the disk's threads have done.
  int disk_turns() const { return disk_turns_; }

 private:
  enum class State { kIdle, kWaiting, kGathering, kAtDisk, kStuck, kEnded };

  // What a turn came to.
  struct TurnEnd {
    absl::Status status = absl::OkStatus();
    Spool::Taken taken = {};
    std::int64_t size = 0;
    bool wide = false;  // The pipe, now.
  };

  // The strand's, or the disk's threads' where the pipe is wide.
  void Turn(int tries = 1);
  // Any thread: the spool and the pipe are one turn's at a time.
  TurnEnd TakeTurn(int tries);
  void TurnAtDisk(int tries = 1);
  void Taken(const TurnEnd& turn);
  void Wait();
  void Unwatch();
  void Pause(State state, std::chrono::steady_clock::duration time);
  void Stuck(const absl::Status& why);
  void End();

  boost::asio::any_io_executor strand_;
  boost::asio::any_io_executor disk_;
  boost::asio::posix::stream_descriptor waiter_;
  boost::asio::steady_timer timer_;
  std::mutex turn_;  // Guards the three below it.
  UniqueFd pipe_;
  PipeWidth width_;
  Spool spool_;
  std::int64_t size_ = 0;
  bool wide_ = false;
  int disk_turns_ = 0;
  std::string name_;
  PumpSink* sink_;
  State state_ = State::kIdle;
  // A wait for the pipe is under way: there is at most one, of this number.
  bool armed_ = false;
  int wait_ = 0;
  bool complained_ = false;
};

}  // namespace sandkeep
