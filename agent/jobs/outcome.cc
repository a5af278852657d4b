#include "agent/jobs/outcome.h"

namespace sandkeep {
namespace {

constexpr int kTimedOutCode = 124;
constexpr int kSignalBase = 128;
constexpr int kKilledCode = 137;

}  // namespace

int ShellExitCode(const Outcome& outcome) {
  switch (outcome.ending) {
    case Ending::kExited:
      return outcome.code & 0xff;
    case Ending::kSignalled:
      return (kSignalBase + outcome.code) & 0xff;
    case Ending::kTimedOut:
      return kTimedOutCode;
    default:
      // It didn't end by itself: never 0.
      return outcome.code > 0 && outcome.code < 256 ? outcome.code : kKilledCode;
  }
}

}  // namespace sandkeep
