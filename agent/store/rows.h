// Rows as SQLite has them: binding and reading of SandboxRow, WarmRow and JobRow. Columns are in
// the order of kSandboxColumns, kWarmColumns and kJobColumns.
#pragma once

#include <string_view>

#include "absl/status/statusor.h"
#include "agent/store/store.h"
#include "common/sqlite.h"

namespace sandkeep {

inline constexpr std::string_view kSandboxColumns =
    "key, principal, label, generation, volume, container, created, last_used, rest, rest_since, "
    "reinstall, workspace_bytes, layer_bytes, names, paused";
inline constexpr std::string_view kWarmColumns = "container, volume";
inline constexpr std::string_view kJobColumns =
    "id, sandbox, state, command_head, started, ended, merge_streams, stdin_open, stdout_inode, "
    "stderr_inode, stdin_inode, spool_bytes, deadline, grace_us, ending, code, waiting_for_input, "
    "left_behind, wall_ms, output_bytes, dropped_bytes, remedy";

std::int64_t TimeColumn(absl::Time time);
int RestColumn(Rest rest);

void BindSandbox(Statement& statement, const SandboxRow& row);
void BindJob(Statement& statement, const JobRow& row);

// DataLoss: a column holds what this program never writes.
absl::StatusOr<SandboxRow> ReadSandbox(const Statement& statement);
absl::StatusOr<WarmRow> ReadWarm(const Statement& statement);
absl::StatusOr<JobRow> ReadJob(const Statement& statement);

}  // namespace sandkeep
