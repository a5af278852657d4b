#include "agent/service/output_range.h"

#include <algorithm>

namespace sandkeep {

// Who names no stream means stdout, of a job that has two.
bool OutputRange::Wants(OutputStream stream) const {
  return stream == stream_ || (stream_ == OutputStream::kMerged && stream == OutputStream::kStdout);
}

void OutputRange::Add(JobEvent event) {
  switch (event.kind) {
    case JobEvent::Kind::kOutput:
      if (Wants(event.output.stream)) AddOutput(std::move(event.output));
      return;
    case JobEvent::Kind::kGap:
      if (!Wants(event.gap.stream)) return;
      // The data stays one piece: what follows the gap is the next call's.
      gaps_.push_back(event.gap);
      whole_ = !data_.empty();
      return;
    case JobEvent::Kind::kWaitingForInput:
    case JobEvent::Kind::kPaused:
    case JobEvent::Kind::kNote:
      return;
    case JobEvent::Kind::kOutcome:
    case JobEvent::Kind::kEndOfWhatThereIs:
      whole_ = true;
      return;
  }
}

void OutputRange::AddOutput(JobOutput output) {
  if (data_.empty()) offset_ = output.offset;
  data_.append(output.data, 0, limit_ - data_.size());
  whole_ = data_.size() == limit_;
}

}  // namespace sandkeep
