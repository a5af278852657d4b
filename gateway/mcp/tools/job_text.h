// What is known of a job as text for the model: the line of facts, a note for each thing that it
// can't know, then the output. Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "gateway/mcp/tools/job_run.h"

namespace sandkeep::mcp {

struct JobTextOptions {
  // Normalised; where the job was started, the agent's own word counts.
  std::string label;
  std::string job_id;  // As shown.
  // Of all the output, and of all of a second stream; may be empty.
  std::string link;
  std::string errors_link = {};
  // How the job began, if the view doesn't know; nullptr: nobody does.
  const agent::v1::JobStarted* started = nullptr;
  // When the job will be ended, if that is known.
  std::optional<absl::Time> ends;
  // The persistent profile: stdout and stderr are streams of their own, even if there was nothing
  // in them, and our words are its.
  bool apart = false;
  // Somebody asked for a timeout: a lowered one is worth a note.
  bool timeout_given = false;
  // Of the caller's own.
  std::vector<std::string> notes;
};

struct JobText {
  std::string text;  // UTF-8.
  // The job's id stands in it: its results go on where this one stopped.
  bool names_job = false;
};

// `[sandbox LABEL] [new] [last used 2 h ago] [exit 0] …`, notes, output.
JobText MakeJobText(const JobView& view, absl::Time now, const JobTextOptions& options);

// How a job ended or that it runs, as fields of the line of facts: `exit 124`, `cause timeout`.
std::vector<std::string> EndFields(const agent::v1::Outcome& outcome);
std::vector<std::string> EndFields(const agent::v1::Job& job);

// ` [FIELD]` for each that isn't empty.
void AppendField(std::string* line, std::string_view field);

// Appends a line of its own; an empty note none.
void AppendNote(std::string* text, std::string_view note);

}  // namespace sandkeep::mcp
