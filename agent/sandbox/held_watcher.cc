#include "agent/sandbox/held_watcher.h"

#include <utility>

namespace sandkeep {
namespace {

class HeldWatcher : public JobWatcher {
 public:
  HeldWatcher(std::unique_ptr<JobWatcher> watcher, std::shared_ptr<void> hold)
      : watcher_(std::move(watcher)), hold_(std::move(hold)) {}

  Async<JobEvent> Next() override {
    auto waiting = watcher_->Next();
    absl::StatusOr<JobEvent> event = co_await std::move(waiting);
    if (!event.ok() || event->kind == JobEvent::Kind::kOutcome ||
        event->kind == JobEvent::Kind::kEndOfWhatThereIs) {
      hold_.reset();
    }
    co_return event;
  }

 private:
  const std::unique_ptr<JobWatcher> watcher_;
  std::shared_ptr<void> hold_;
};

}  // namespace

std::unique_ptr<JobWatcher> MakeHeldWatcher(std::unique_ptr<JobWatcher> watcher,
                                            std::shared_ptr<void> hold) {
  return std::make_unique<HeldWatcher>(std::move(watcher), std::move(hold));
}

}  // namespace sandkeep
