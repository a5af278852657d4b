#include "agent/imager/fair_gate.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "common/status_macros.h"

namespace sandkeep {

Async<FairGate::Turn> FairGate::Take(std::shared_ptr<FairGate> gate, std::string party) {
  const Waiter waiter = std::make_shared<Pending<Turn>>();
  CO_RETURN_IF_ERROR(gate->Join(party, waiter));
  std::function<void()> leave = [gate, party, waiter] { gate->Leave(party, waiter); };
  auto waiting = waiter->Take(nullptr, std::move(leave));
  Turn turn = co_await std::move(waiting);
  if (turn == nullptr) co_return absl::CancelledError("the caller left");
  co_return turn;
}

absl::Status FairGate::Join(const std::string& party, const Waiter& waiter) {
  Given given;
  {
    const std::lock_guard lock(mutex_);
    std::deque<Waiter>& line = parties_[party].line;
    if (line.size() >= most_waiting_) {
      return absl::ResourceExhaustedError("too many are being looked at; try again");
    }
    if (line.empty()) ring_.push_back(party);
    line.push_back(waiter);
    given = GiveOut();
  }
  Deliver(std::move(given));
  return absl::OkStatus();
}

// One who has been given a turn meanwhile isn't in the line any more: the turn goes with it.
void FairGate::Leave(const std::string& party, const Waiter& waiter) {
  const std::lock_guard lock(mutex_);
  const auto found = parties_.find(party);
  if (found == parties_.end()) return;
  std::deque<Waiter>& line = found->second.line;
  const auto place = std::find(line.begin(), line.end(), waiter);
  if (place == line.end()) return;
  line.erase(place);
  if (line.empty()) ring_.erase(std::find(ring_.begin(), ring_.end(), party));
  ForgetIfIdle(party);
}

void FairGate::GiveBack(const std::string& party) {
  Given given;
  {
    const std::lock_guard lock(mutex_);
    ++free_;
    --parties_[party].has;
    ForgetIfIdle(party);
    given = GiveOut();
  }
  Deliver(std::move(given));
}

void FairGate::Deliver(Given given) {
  for (auto& [waiter, turn] : given) waiter->Deliver(std::move(turn));
}

FairGate::Given FairGate::GiveOut() {
  Given given;
  while (free_ > 0 && !ring_.empty()) {
    const auto next = NextParty();
    const std::string name = *next;
    ring_.erase(next);
    Party& party = parties_[name];
    Waiter waiter = std::move(party.line.front());
    party.line.pop_front();
    if (!party.line.empty()) ring_.push_back(name);
    ++party.has;
    --free_;
    const auto give_back = [self = shared_from_this(), name](const void*) { self->GiveBack(name); };
    given.emplace_back(std::move(waiter), Turn(static_cast<const void*>(this), give_back));
  }
  return given;
}

// The first with the fewest turns.
std::deque<std::string>::iterator FairGate::NextParty() {
  return std::min_element(ring_.begin(), ring_.end(), [this](const auto& a, const auto& b) {
    return parties_[a].has < parties_[b].has;
  });
}

void FairGate::ForgetIfIdle(const std::string& party) {
  const auto found = parties_.find(party);
  if (found->second.has == 0 && found->second.line.empty()) parties_.erase(found);
}

}  // namespace sandkeep
