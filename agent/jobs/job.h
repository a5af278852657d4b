// One command, from start to forgotten: what is known of it, as plain values. Made by JobTable;
// copies are snapshots.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "agent/jobs/outcome.h"
#include "common/ids.h"

namespace sandkeep {

enum class JobState { kStarting, kRunning, kEnded };

enum class OutputStream { kMerged, kStdout, kStderr };

// What a caller asks for, already within the limits.
struct JobSpec {
  JobId id;
  std::string command;
  std::string cwd;  // Absolute inside the container; empty: the workspace.
  std::vector<std::pair<std::string, std::string>> env;
  std::string stdin_text;
  bool keep_stdin = false;
  bool merge_streams = true;
  absl::Duration timeout = absl::InfiniteDuration();
  absl::Duration grace = absl::Seconds(2);
};

struct JobSnapshot {
  JobId id;
  JobState state = JobState::kStarting;
  std::string command_head;
  absl::Time started;
  absl::Time ended;
  std::int64_t output_bytes = 0;
  std::optional<Outcome> outcome;
  absl::Time deadline = absl::InfiniteFuture();
  bool stdin_open = false;
  bool waiting_for_input = false;
  int left_behind = 0;
  std::string paused = {};  // Why every process of it is stopped, for the model; empty: none is.
};

// What a watcher sees, in order: output and gaps, then the outcome once.
struct JobOutput {
  std::int64_t offset = 0;
  OutputStream stream = OutputStream::kMerged;
  std::string data;
};
struct JobGap {
  std::int64_t from = 0;
  std::int64_t to = 0;
  OutputStream stream = OutputStream::kMerged;
};

struct JobEvent {
  enum class Kind {
    kOutput,
    kGap,
    kWaitingForInput,
    kPaused,
    kNote,
    kOutcome,
    kEndOfWhatThereIs
  } kind;
  JobOutput output;
  JobGap gap;
  Outcome outcome;
  std::string paused = {};  // As in JobSnapshot.
  std::string note = {};    // A line for the model.
};

}  // namespace sandkeep
