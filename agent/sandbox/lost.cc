#include "agent/sandbox/lost.h"

#include "common/strings.h"

namespace sandkeep {
namespace {

Outcome Lost(Ending ending, std::string remedy) {
  Outcome outcome;
  outcome.ending = ending;
  outcome.remedy = std::move(remedy);
  return outcome;
}

}  // namespace

Outcome LostContainer() {
  return Lost(Ending::kSandboxGone,
              "the container ended underneath it: files in the workspace are kept, processes "
              "aren't; run it again");
}

Outcome BrokenSandbox() {
  return Lost(Ending::kSandboxGone,
              "the sandbox was broken from inside and had to be ended: files in the workspace are "
              "kept, processes and packages aren't");
}

Outcome RemovedOnPurpose() {
  return Lost(Ending::kSandboxGone, "the sandbox was removed while it ran");
}

Outcome StoppedIdle() {
  return Lost(Ending::kSandboxGone, "the sandbox was stopped: nobody had used it for long");
}

absl::Status BrokenFromInside(const absl::Status& why) {
  if (!absl::IsDataLoss(why)) return why;
  return absl::DataLossError(
      StrCat("the sandbox is broken (", ToStd(why.message()),
             ") and was ended: its files are kept; run it again, and it is made anew"));
}

bool PastRepair(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kResourceExhausted:
    case absl::StatusCode::kFailedPrecondition:
      return false;
    default:
      return !status.ok();
  }
}

bool IsEngineFailure(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status);
}

Outcome LostToRestart() {
  return Lost(Ending::kHostRestarted,
              "the host restarted while it ran: files in the workspace are kept; run it again");
}

}  // namespace sandkeep
