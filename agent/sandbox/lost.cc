#include "agent/sandbox/lost.h"

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
              "the container ended underneath it: files in the workspace are kept, processes and "
              "packages are gone; run it again");
}

Outcome RemovedOnPurpose() {
  return Lost(Ending::kSandboxGone, "the sandbox was removed while it ran");
}

Outcome LostToRestart() {
  return Lost(Ending::kHostRestarted,
              "the host restarted while it ran: files in the workspace are kept; run it again");
}

}  // namespace sandkeep
