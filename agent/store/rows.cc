#include "agent/store/rows.h"

#include <array>
#include <limits>

#include "common/status_macros.h"
#include "common/strings.h"

namespace sandkeep {
namespace {

constexpr std::int64_t kPast = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kFuture = std::numeric_limits<std::int64_t>::max();

// What the numbers in the file mean. They outlive this program: never renumber, only add.
struct StateCode {
  int code;
  JobState state;
};
constexpr std::array<StateCode, 3> kStates = {{
    {1, JobState::kStarting},
    {2, JobState::kRunning},
    {3, JobState::kEnded},
}};

struct EndingCode {
  int code;
  Ending ending;
};
constexpr std::array<EndingCode, 10> kEndings = {{
    {1, Ending::kExited},
    {2, Ending::kSignalled},
    {3, Ending::kTimedOut},
    {4, Ending::kCancelled},
    {5, Ending::kOutOfMemory},
    {6, Ending::kPidLimit},
    {7, Ending::kDiskFull},
    {8, Ending::kSandboxGone},
    {9, Ending::kHostRestarted},
    {10, Ending::kAgentFault},
}};

struct RestCode {
  int code;
  Rest rest;
};
constexpr std::array<RestCode, 3> kRests = {{
    {0, Rest::kNone},
    {1, Rest::kFrozen},
    {2, Rest::kStopped},
}};

int CodeOf(JobState state) {
  for (const StateCode& entry : kStates) {
    if (entry.state == state) return entry.code;
  }
  return 0;
}

int CodeOf(Ending ending) {
  for (const EndingCode& entry : kEndings) {
    if (entry.ending == ending) return entry.code;
  }
  return 0;
}

absl::StatusOr<JobState> StateOf(std::int64_t code) {
  for (const StateCode& entry : kStates) {
    if (entry.code == code) return entry.state;
  }
  return absl::DataLossError(StrCat("job state ", code));
}

absl::StatusOr<Ending> EndingOf(std::int64_t code) {
  for (const EndingCode& entry : kEndings) {
    if (entry.code == code) return entry.ending;
  }
  return absl::DataLossError(StrCat("job ending ", code));
}

absl::StatusOr<Rest> RestOf(std::int64_t code) {
  for (const RestCode& entry : kRests) {
    if (entry.code == code) return entry.rest;
  }
  return absl::DataLossError(StrCat("sandbox rest ", code));
}

absl::Time TimeOf(std::int64_t column) {
  if (column == kPast) return absl::InfinitePast();
  if (column == kFuture) return absl::InfiniteFuture();
  return absl::FromUnixMicros(column);
}

std::int64_t Inode(std::uint64_t inode) { return static_cast<std::int64_t>(inode); }
std::uint64_t InodeOf(std::int64_t column) { return static_cast<std::uint64_t>(column); }

void BindOutcome(Statement& statement, int first, const std::optional<Outcome>& outcome) {
  if (!outcome) {
    for (int i = 0; i < 8; ++i) statement.BindNull(first + i);
    return;
  }
  statement.Bind(first, CodeOf(outcome->ending))
      .Bind(first + 1, outcome->code)
      .Bind(first + 2, outcome->waiting_for_input)
      .Bind(first + 3, outcome->left_behind)
      .Bind(first + 4, outcome->wall.count())
      .Bind(first + 5, outcome->output_bytes)
      .Bind(first + 6, outcome->dropped_bytes)
      .BindBlob(first + 7, outcome->remedy);
}

absl::StatusOr<std::optional<Outcome>> ReadOutcome(const Statement& statement, int first) {
  if (statement.IsNull(first)) return std::optional<Outcome>();
  Outcome outcome;
  ASSIGN_OR_RETURN(outcome.ending, EndingOf(statement.Int(first)));
  outcome.code = static_cast<int>(statement.Int(first + 1));
  outcome.waiting_for_input = statement.Int(first + 2) != 0;
  outcome.left_behind = static_cast<int>(statement.Int(first + 3));
  outcome.wall = std::chrono::milliseconds(statement.Int(first + 4));
  outcome.output_bytes = statement.Int(first + 5);
  outcome.dropped_bytes = statement.Int(first + 6);
  outcome.remedy = statement.Text(first + 7);
  return std::optional<Outcome>(std::move(outcome));
}

}  // namespace

std::int64_t TimeColumn(absl::Time time) {
  if (time == absl::InfinitePast()) return kPast;
  if (time == absl::InfiniteFuture()) return kFuture;
  return absl::ToUnixMicros(time);
}

int RestColumn(Rest rest) {
  for (const RestCode& entry : kRests) {
    if (entry.rest == rest) return entry.code;
  }
  return 0;
}

void BindSandbox(Statement& statement, const SandboxRow& row) {
  statement.BindText(1, row.key.text())
      .BindText(2, row.principal.text())
      .BindText(3, row.label.text())
      .BindBlob(4, row.generation.bytes())
      .BindText(5, row.volume.text());
  if (row.container) {
    statement.BindText(6, row.container->text());
  } else {
    statement.BindNull(6);
  }
  statement.Bind(7, TimeColumn(row.created))
      .Bind(8, TimeColumn(row.last_used))
      .Bind(9, RestColumn(row.rest))
      .Bind(10, TimeColumn(row.rest_since))
      .BindText(11, row.reinstall)
      .Bind(12, row.disk.workspace)
      .Bind(13, row.disk.layer)
      .Bind(14, row.disk.names)
      .Bind(15, row.disk.paused);
}

void BindJob(Statement& statement, const JobRow& row) {
  statement.BindBlob(1, row.id.bytes())
      .BindText(2, row.sandbox.text())
      .Bind(3, CodeOf(row.state))
      .BindBlob(4, row.command_head)
      .Bind(5, TimeColumn(row.started))
      .Bind(6, TimeColumn(row.ended))
      .Bind(7, row.merge_streams)
      .Bind(8, row.stdin_open)
      .Bind(9, Inode(row.stdout_inode))
      .Bind(10, Inode(row.stderr_inode))
      .Bind(11, Inode(row.stdin_inode))
      .Bind(12, row.spool_bytes)
      .Bind(13, TimeColumn(row.deadline))
      .Bind(14, absl::ToInt64Microseconds(row.grace));
  BindOutcome(statement, 15, row.outcome);
}

absl::StatusOr<SandboxRow> ReadSandbox(const Statement& statement) {
  ASSIGN_OR_RETURN(SandboxKey key, SandboxKey::Parse(statement.Text(0)));
  ASSIGN_OR_RETURN(PrincipalId principal, PrincipalId::Parse(statement.Text(1)));
  ASSIGN_OR_RETURN(Label label, Label::Parse(statement.Text(2)));
  ASSIGN_OR_RETURN(Generation generation, Generation::FromBytes(statement.Text(3)));
  ASSIGN_OR_RETURN(EngineName volume, EngineName::Parse(statement.Text(4)));
  std::optional<EngineName> container;
  if (!statement.IsNull(5)) {
    ASSIGN_OR_RETURN(container, EngineName::Parse(statement.Text(5)));
  }
  ASSIGN_OR_RETURN(const Rest rest, RestOf(statement.Int(8)));
  return SandboxRow{
      .key = std::move(key),
      .principal = std::move(principal),
      .label = std::move(label),
      .generation = std::move(generation),
      .volume = std::move(volume),
      .container = std::move(container),
      .created = TimeOf(statement.Int(6)),
      .last_used = TimeOf(statement.Int(7)),
      .rest = rest,
      .rest_since = TimeOf(statement.Int(9)),
      .reinstall = statement.Text(10),
      .disk = {.workspace = statement.Int(11),
               .layer = statement.Int(12),
               .names = statement.Int(13),
               .paused = statement.Int(14) != 0},
  };
}

absl::StatusOr<WarmRow> ReadWarm(const Statement& statement) {
  ASSIGN_OR_RETURN(EngineName container, EngineName::Parse(statement.Text(0)));
  ASSIGN_OR_RETURN(EngineName volume, EngineName::Parse(statement.Text(1)));
  return WarmRow{.container = std::move(container), .volume = std::move(volume)};
}

absl::StatusOr<JobRow> ReadJob(const Statement& statement) {
  ASSIGN_OR_RETURN(JobId id, JobId::FromBytes(statement.Text(0)));
  ASSIGN_OR_RETURN(SandboxKey sandbox, SandboxKey::Parse(statement.Text(1)));
  ASSIGN_OR_RETURN(JobState state, StateOf(statement.Int(2)));
  ASSIGN_OR_RETURN(std::optional<Outcome> outcome, ReadOutcome(statement, 14));
  return JobRow{
      .id = std::move(id),
      .sandbox = std::move(sandbox),
      .state = state,
      .command_head = statement.Text(3),
      .started = TimeOf(statement.Int(4)),
      .ended = TimeOf(statement.Int(5)),
      .merge_streams = statement.Int(6) != 0,
      .stdin_open = statement.Int(7) != 0,
      .stdout_inode = InodeOf(statement.Int(8)),
      .stderr_inode = InodeOf(statement.Int(9)),
      .stdin_inode = InodeOf(statement.Int(10)),
      .spool_bytes = statement.Int(11),
      .deadline = TimeOf(statement.Int(12)),
      .grace = absl::Microseconds(statement.Int(13)),
      .outcome = std::move(outcome),
  };
}

}  // namespace sandkeep
