// Turns among parties of whom each may want many at once: whoever waits gets the next turn before
// one that has a turn already, and they come round in their order. So nobody waits for more than
// what was begun before, however much another party has in line. Thread-safe.
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "common/async.h"
#include "common/pending.h"

namespace sandkeep {

class FairGate : public std::enable_shared_from_this<FairGate> {
 public:
  // Held; given back when it goes, however its holder ends.
  using Turn = std::shared_ptr<const void>;

  // `turns` at once; of one party at most `most_waiting` in line.
  FairGate(int turns, std::size_t most_waiting) : free_(turns), most_waiting_(most_waiting) {}

  // Cancelled: the caller left before there was one. ResourceExhausted: the party's line is full.
  static Async<Turn> Take(std::shared_ptr<FairGate> gate, std::string party);

 private:
  using Waiter = std::shared_ptr<Pending<Turn>>;
  struct Party {
    int has = 0;
    std::deque<Waiter> line;
  };

  // Turns that were given out, to be delivered when the lock is let go: one that nobody takes any
  // more comes back at once.
  using Given = std::vector<std::pair<Waiter, Turn>>;
  static void Deliver(Given given);

  absl::Status Join(const std::string& party, const Waiter& waiter);
  void Leave(const std::string& party, const Waiter& waiter);
  void GiveBack(const std::string& party);
  Given GiveOut();
  std::deque<std::string>::iterator NextParty();
  void ForgetIfIdle(const std::string& party);

  std::mutex mutex_;
  int free_;
  const std::size_t most_waiting_;
  absl::flat_hash_map<std::string, Party> parties_;
  std::deque<std::string> ring_;  // Those with a line; the next one first.
};

}  // namespace sandkeep
