// A job's end as text for the model: the line of facts, a note for each thing that it can't know,
// then the output. Any thread.
#pragma once

#include <string>
#include <string_view>

#include "absl/time/time.h"
#include "gateway/mcp/tools/job_run.h"

namespace sandkeep::mcp {

struct JobTextOptions {
  std::string job_id;  // As shown.
  // Somebody asked for a timeout: a lowered one is worth a note.
  bool timeout_given = false;
};

// `[sandbox LABEL] [new] [last used 2 h ago] [exit 0] …`, notes, output. UTF-8.
std::string JobText(const JobView& view, absl::Time now, const JobTextOptions& options);

}  // namespace sandkeep::mcp
