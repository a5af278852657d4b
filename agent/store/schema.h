// The tables of agent.db, as migrations: an entry once released never changes, a new version is a
// new entry.
//
// Keys are the primary b-tree itself (WITHOUT ROWID), so that a job's row is one page to write.
// Times are Unix microseconds, the smallest and largest number for the infinite past and future.
#pragma once

#include <string_view>

namespace sandkeep {

inline constexpr std::string_view kStoreMigrations[] = {
    R"sql(
CREATE TABLE sandboxes (
  key TEXT PRIMARY KEY,
  principal TEXT NOT NULL,
  label TEXT NOT NULL,
  generation BLOB NOT NULL,
  volume TEXT NOT NULL,
  container TEXT,
  created INTEGER NOT NULL,
  last_used INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE jobs (
  id BLOB PRIMARY KEY,
  sandbox TEXT NOT NULL,
  state INTEGER NOT NULL,
  command_head BLOB NOT NULL,
  started INTEGER NOT NULL,
  ended INTEGER NOT NULL,
  merge_streams INTEGER NOT NULL,
  stdin_open INTEGER NOT NULL,
  stdout_inode INTEGER NOT NULL,
  stderr_inode INTEGER NOT NULL,
  stdin_inode INTEGER NOT NULL,
  spool_bytes INTEGER NOT NULL,
  deadline INTEGER NOT NULL,
  grace_us INTEGER NOT NULL,
  ending INTEGER,
  code INTEGER,
  waiting_for_input INTEGER,
  left_behind INTEGER,
  wall_ms INTEGER,
  output_bytes INTEGER,
  dropped_bytes INTEGER,
  remedy BLOB
) WITHOUT ROWID;
)sql",
    R"sql(
ALTER TABLE sandboxes ADD COLUMN rest INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sandboxes ADD COLUMN rest_since INTEGER NOT NULL DEFAULT -9223372036854775808;

CREATE TABLE warm (
  container TEXT PRIMARY KEY,
  volume TEXT NOT NULL
) WITHOUT ROWID;
)sql",
    // A job's id is its caller's choice, so it says nothing outside its sandbox.
    R"sql(
ALTER TABLE jobs RENAME TO old_jobs;

CREATE TABLE jobs (
  sandbox TEXT NOT NULL,
  id BLOB NOT NULL,
  state INTEGER NOT NULL,
  command_head BLOB NOT NULL,
  started INTEGER NOT NULL,
  ended INTEGER NOT NULL,
  merge_streams INTEGER NOT NULL,
  stdin_open INTEGER NOT NULL,
  stdout_inode INTEGER NOT NULL,
  stderr_inode INTEGER NOT NULL,
  stdin_inode INTEGER NOT NULL,
  spool_bytes INTEGER NOT NULL,
  deadline INTEGER NOT NULL,
  grace_us INTEGER NOT NULL,
  ending INTEGER,
  code INTEGER,
  waiting_for_input INTEGER,
  left_behind INTEGER,
  wall_ms INTEGER,
  output_bytes INTEGER,
  dropped_bytes INTEGER,
  remedy BLOB,
  PRIMARY KEY (sandbox, id)
) WITHOUT ROWID;

INSERT INTO jobs (sandbox, id, state, command_head, started, ended, merge_streams, stdin_open,
  stdout_inode, stderr_inode, stdin_inode, spool_bytes, deadline, grace_us, ending, code,
  waiting_for_input, left_behind, wall_ms, output_bytes, dropped_bytes, remedy)
SELECT sandbox, id, state, command_head, started, ended, merge_streams, stdin_open,
  stdout_inode, stderr_inode, stdin_inode, spool_bytes, deadline, grace_us, ending, code,
  waiting_for_input, left_behind, wall_ms, output_bytes, dropped_bytes, remedy FROM old_jobs;

DROP TABLE old_jobs;
)sql",
    R"sql(
ALTER TABLE sandboxes ADD COLUMN reinstall TEXT NOT NULL DEFAULT '';
ALTER TABLE sandboxes ADD COLUMN workspace_bytes INTEGER NOT NULL DEFAULT -1;
ALTER TABLE sandboxes ADD COLUMN layer_bytes INTEGER NOT NULL DEFAULT -1;
ALTER TABLE sandboxes ADD COLUMN names INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sandboxes ADD COLUMN paused INTEGER NOT NULL DEFAULT 0;
)sql",
};

}  // namespace sandkeep
