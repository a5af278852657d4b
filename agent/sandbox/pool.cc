#include "agent/sandbox/pool.h"

#include <poll.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "common/limits.h"
#include "common/log.h"
#include "common/status_macros.h"

namespace sandkeep {
namespace {

bool IsAlive(const RunningContainer& container) {
  pollfd ended{container.init_pidfd.get(), POLLIN, 0};
  return ::poll(&ended, 1, 0) == 0;
}

}  // namespace

Pool::Pool(boost::asio::any_io_executor executor, ContainerRuntime& runtime, Store& store,
           Random& random, int size, std::function<Async<bool>()> may_fill)
    : strand_(boost::asio::make_strand(std::move(executor))),
      runtime_(runtime),
      store_(store),
      random_(random),
      size_(size),
      may_fill_(std::move(may_fill)) {}

boost::asio::awaitable<void> Pool::Close() {
  size_ = 0;
  std::vector<WarmContainer> left;
  {
    const std::lock_guard lock(mutex_);
    left = std::exchange(ready_, {});
  }
  for (const WarmContainer& one : left) {
    WarmRow row{one.running.name, one.volume};
    co_await Drop(std::move(row));
  }
}

int Pool::ready() const {
  const std::lock_guard lock(mutex_);
  return static_cast<int>(ready_.size());
}

bool Pool::IsFull() const { return ready() >= size_; }

std::optional<WarmContainer> Pool::Claim() {
  std::optional<WarmContainer> claimed;
  {
    const std::lock_guard lock(mutex_);
    while (!ready_.empty() && !claimed) {
      WarmContainer last = std::move(ready_.back());
      ready_.pop_back();
      if (IsAlive(last.running)) {
        claimed = std::move(last);
        continue;
      }
      Spawn(strand_, "pool.drop", Drop({last.running.name, last.volume}));
    }
  }
  if (!IsFull()) Fill();
  return claimed;
}

void Pool::Return(WarmContainer container) {
  {
    const std::lock_guard lock(mutex_);
    if (static_cast<int>(ready_.size()) < size_) {
      ready_.push_back(std::move(container));
      return;
    }
  }
  Spawn(strand_, "pool.drop", Drop({container.running.name, container.volume}));
}

void Pool::Fill() {
  if (size_ == 0) return;
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(filling_, true)) return;
  }
  Spawn(strand_, "pool.fill", FillHere());
}

boost::asio::awaitable<void> Pool::FillHere() {
  boost::asio::steady_timer pause(strand_);
  while (!IsFull()) {
    const absl::StatusOr<bool> may = co_await may_fill_();
    absl::Status added = may.status();
    if (may.ok() && *may) added = co_await AddOne();
    if (!added.ok()) Log(Severity::kWarning, "pool.not_filled", {{"why", added}});
    if (added.ok() && *may) continue;
    pause.expires_after(kWarmRetry);
    co_await pause.async_wait(boost::asio::as_tuple(boost::asio::use_awaitable));
  }
  const std::lock_guard lock(mutex_);
  filling_ = false;
}

Async<void> Pool::AddOne() {
  const WarmRow row{.container = EngineName::Make(random_), .volume = EngineName::Make(random_)};
  CO_RETURN_IF_ERROR(co_await store_.PutWarm(row));
  std::string binding(kWarmBinding);
  absl::Status made = co_await runtime_.CreateVolume(row.volume, std::move(binding));
  if (made.ok()) {
    const std::string hostname = row.container.text();
    absl::StatusOr<RunningContainer> running =
        co_await runtime_.Start(row.container, row.volume, hostname);
    if (running.ok()) {
      // One may have been given back meanwhile.
      Return({row.volume, *std::move(running)});
      co_return absl::OkStatus();
    }
    made = running.status();
  }
  co_await Drop(row);
  co_return made;
}

// What can't be removed now stays recorded: the next agent removes it.
boost::asio::awaitable<void> Pool::Drop(WarmRow row) {
  absl::Status dropped = co_await runtime_.Remove(row.container);
  if (dropped.ok()) dropped = co_await runtime_.RemoveVolume(row.volume);
  if (dropped.ok()) dropped = co_await store_.DeleteWarm(row.container);
  if (!dropped.ok()) Log(Severity::kWarning, "pool.left", {{"why", dropped}});
}

}  // namespace sandkeep
