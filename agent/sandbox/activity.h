// What goes on in one sandbox: who may freeze it, and when, follows from this alone. Looking at a
// sandbox is no activity; a shell that stands by for its next command is none either.
//
// Plain values on the monotonic clock. HoldCount is thread-safe, and outlives its sandbox as long
// as somebody holds on.
#pragma once

#include <memory>
#include <mutex>
#include <optional>

#include "absl/time/time.h"
#include "common/clock.h"

namespace sandkeep {

struct Activity {
  int calls = 0;  // Commands on their way in.
  int holds = 0;  // Transfers, and calls that follow a command.
  int running_jobs = 0;
  int left_behind = 0;          // Jobs that ended and left processes behind.
  Clock::Monotonic last_call;   // When the last command came or ended.
  Clock::Monotonic last_hold;   // When the last transfer or waiting call ended.
  Clock::Monotonic left_since;  // When the last job ended that left processes behind.

  friend bool operator==(const Activity&, const Activity&) = default;
};

// Something goes on, however old it is.
bool IsBusy(const Activity& activity);

// Since when nothing has gone on but processes left behind for longer than `background`. Nothing:
// something does.
std::optional<Clock::Monotonic> IdleSince(const Activity& activity, absl::Duration background,
                                          Clock::Monotonic now);

// Its place may be given to another: no call, no transfer, nobody who waits, and no running command
// but one that was handed back kHandedBackHold ago.
bool Yields(const Activity& activity, Clock::Monotonic now);

// Ends no process of anybody's: nothing runs, and what was left behind is older than `background`.
bool MayBeEnded(const Activity& activity, absl::Duration background, Clock::Monotonic now);

// Counts what is under way from outside, and when the last of it ended.
class HoldCount {
 public:
  explicit HoldCount(Clock& clock) : clock_(clock) { now_.last = clock.Steady(); }

  int count() const { return now().count; }
  // And when the last of them ended.
  struct Now {
    int count = 0;
    Clock::Monotonic last;
  };
  Now now() const;

 private:
  friend std::shared_ptr<void> MakeHold(std::shared_ptr<HoldCount> count);
  void Add(int by);

  Clock& clock_;
  mutable std::mutex mutex_;
  Now now_;
};

// Until the last copy is gone.
std::shared_ptr<void> MakeHold(std::shared_ptr<HoldCount> count);

}  // namespace sandkeep
