#include "agent/jobs/watcher.h"

#include <algorithm>
#include <boost/asio/this_coro.hpp>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "common/await_on.h"
#include "common/limits.h"
#include "common/run_on.h"
#include "common/status_macros.h"
#include "common/strings.h"

namespace sandkeep {
namespace {

namespace asio = boost::asio;

constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();

struct Cursor {
  std::int64_t offset = 0;
  // Where it stops for good, once that is known.
  std::int64_t stop = kNoLimit;
  std::shared_ptr<SpoolReader> reader;
};

struct WatchState {
  asio::any_io_executor strand;
  asio::any_io_executor disk;
  std::shared_ptr<JobEntry> job;
  std::shared_ptr<PortNews> ports;
  bool follow = true;
  std::vector<Cursor> cursors;
  std::size_t turn = 0;  // The stream that is looked at first, so that neither waits for the other.
  int waits_seen = 0;
  int pauses_seen = 0;
  bool finished = false;
};

JobEvent GapEvent(const JobEntry& job, std::size_t i, std::int64_t from, std::int64_t to) {
  JobEvent event{};
  event.kind = JobEvent::Kind::kGap;
  event.gap = {from, to, job.stream(i)};
  return event;
}

// Where the cursor of a stream must stop now: what there is, or its end.
std::int64_t Until(const JobEntry& job, std::size_t i, Cursor& cursor) {
  if (cursor.stop == kNoLimit && job.ended()) {
    cursor.stop = std::max(job.size_at_end(i), cursor.offset);
  }
  return std::min(job.size(i), cursor.stop);
}

// The dropped range that a cursor stands in, as far as it goes for it.
std::optional<JobEvent> TakeGap(const JobEntry& job, std::size_t i, Cursor& cursor,
                                std::int64_t until) {
  const ByteRange dropped = job.dropped(i);
  if (!dropped.Holds(cursor.offset)) return std::nullopt;
  const std::int64_t to = std::min(dropped.to, until);
  JobEvent event = GapEvent(job, i, cursor.offset, to);
  cursor.offset = to;
  return event;
}

// Bytes from where the cursor stands; a gap where they were dropped, while being read or before.
Async<JobEvent> TakeBytes(std::shared_ptr<WatchState> watch, std::size_t i, std::int64_t until) {
  JobEntry& job = *watch->job;
  Cursor& cursor = watch->cursors[i];
  std::int64_t limit = std::min<std::int64_t>(until - cursor.offset, kMaxJobOutputChunk);
  const ByteRange dropped = job.dropped(i);
  if (dropped.size() > 0 && cursor.offset < dropped.from) {
    limit = std::min(limit, dropped.from - cursor.offset);
  }
  if (!cursor.reader) cursor.reader = std::make_shared<SpoolReader>(job.spool_path(i));

  absl::StatusOr<std::optional<std::string>> now = cursor.reader->ReadNow(cursor.offset, limit);
  if (absl::IsNotFound(now.status())) {
    // The spool itself was given up: all that was to come is one gap.
    const std::int64_t from = std::exchange(cursor.offset, until);
    co_return GapEvent(job, i, from, until);
  }
  CO_RETURN_IF_ERROR(now.status());
  std::string data;
  if (now->has_value()) {
    data = **std::move(now);
  } else {
    auto read = [reader = cursor.reader, offset = cursor.offset, limit]() {
      return reader->ReadBlocking(offset, limit);
    };
    CO_ASSIGN_OR_RETURN(data, co_await RunOn(watch->disk, std::move(read)));
    // The pump may have dropped it under the read.
    if (std::optional<JobEvent> gap = TakeGap(job, i, cursor, until)) co_return *std::move(gap);
    const ByteRange after = job.dropped(i);
    if (after.size() > 0 && cursor.offset < after.from) {
      const std::int64_t whole = after.from - cursor.offset;
      if (static_cast<std::int64_t>(data.size()) > whole) data.resize(whole);
    }
  }
  if (data.empty()) co_return absl::DataLossError("a spool is shorter than it was");

  JobEvent event{};
  event.kind = JobEvent::Kind::kOutput;
  event.output = {cursor.offset, job.stream(i), std::move(data)};
  cursor.offset += static_cast<std::int64_t>(event.output.data.size());
  co_return event;
}

// What there is to say without reading or waiting.
std::optional<JobEvent> Announce(WatchState& watch) {
  JobEntry& job = *watch.job;
  JobEvent event{};
  // Who doesn't follow may look for something else, and would lose it.
  if (watch.follow) {
    if (std::optional<std::string> port = watch.ports->Take()) {
      event.kind = JobEvent::Kind::kNote;
      event.note = *std::move(port);
      return event;
    }
  }
  if (job.ended()) {
    event.kind = JobEvent::Kind::kOutcome;
    event.outcome = *job.row().outcome;
    watch.finished = true;
    return event;
  }
  if (job.waiting() && job.waits() != watch.waits_seen) {
    event.kind = JobEvent::Kind::kWaitingForInput;
    watch.waits_seen = job.waits();
    return event;
  }
  if (job.pauses() != watch.pauses_seen) {
    event.kind = JobEvent::Kind::kPaused;
    event.paused = job.paused();
    watch.pauses_seen = job.pauses();
    return event;
  }
  if (watch.follow) return std::nullopt;
  event.kind = JobEvent::Kind::kEndOfWhatThereIs;
  watch.finished = true;
  return event;
}

// The next stream with something to give; nullopt: none has.
std::optional<std::size_t> NextStream(WatchState& watch) {
  for (std::size_t k = 0; k < watch.cursors.size(); ++k) {
    const std::size_t i = (watch.turn + k) % watch.cursors.size();
    if (watch.cursors[i].offset < Until(*watch.job, i, watch.cursors[i])) {
      watch.turn = i + 1;
      return i;
    }
  }
  return std::nullopt;
}

Async<JobEvent> NextEvent(std::shared_ptr<WatchState> watch) {
  if (watch->finished) co_return absl::OutOfRangeError("this watcher has told all");
  for (;;) {
    JobEntry& job = *watch->job;
    if (const std::optional<std::size_t> i = NextStream(*watch)) {
      Cursor& cursor = watch->cursors[*i];
      const std::int64_t until = Until(job, *i, cursor);
      if (std::optional<JobEvent> gap = TakeGap(job, *i, cursor, until)) co_return *std::move(gap);
      co_return co_await TakeBytes(watch, *i, until);
    }
    if (std::optional<JobEvent> event = Announce(*watch)) co_return *std::move(event);
    if (job.abandoned()) co_return absl::UnavailableError("the agent stops following this job");
    co_await job.changed().Wait();
    const auto state = co_await asio::this_coro::cancellation_state;
    if (state.cancelled() != asio::cancellation_type::none) {
      co_return absl::CancelledError("nobody waits for it any more");
    }
  }
}

class SpoolWatcher : public JobWatcher {
 public:
  explicit SpoolWatcher(std::shared_ptr<WatchState> state) : state_(std::move(state)) {}

  // On the strand, whoever calls.
  Async<JobEvent> Next() override {
    auto next = NextEvent(state_);
    return AwaitOn(state_->strand, std::move(next));
  }

 private:
  std::shared_ptr<WatchState> state_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<JobWatcher>> MakeWatcher(asio::any_io_executor strand,
                                                        asio::any_io_executor disk,
                                                        std::shared_ptr<JobEntry> job,
                                                        std::shared_ptr<PortNews> ports,
                                                        std::int64_t from_offset, bool follow) {
  if (from_offset < 0) return absl::InvalidArgumentError("an offset can't be negative");
  auto state = std::make_shared<WatchState>();
  std::int64_t end = 0;
  for (std::size_t i = 0; i < job->streams(); ++i) {
    const std::int64_t size = job->size(i);
    Cursor cursor{.offset = std::min(from_offset, size), .stop = kNoLimit, .reader = nullptr};
    // Of a job that has ended, or for who doesn't follow: what there is now, and no more, however
    // much a process left behind goes on printing.
    if (job->ended() || !follow) cursor.stop = size;
    state->cursors.push_back(std::move(cursor));
    end = std::max(end, size);
  }
  if (from_offset > end) {
    return absl::OutOfRangeError(
        StrCat("offset ", from_offset, " is past the end: the job has printed ", end, " bytes"));
  }
  // That it had been paused before is nothing to tell.
  if (job->paused().empty()) state->pauses_seen = job->pauses();
  state->strand = std::move(strand);
  state->disk = std::move(disk);
  state->job = std::move(job);
  state->ports = std::move(ports);
  state->follow = follow;
  return std::make_unique<SpoolWatcher>(std::move(state));
}

}  // namespace sandkeep
