#include "gateway/mcp/tools/known_remedy.h"

#include <array>

namespace sandkeep::mcp {
namespace {

struct Failure {
  std::string_view words;  // In the program's own message.
  std::string_view remedy;
};

constexpr std::string_view kInterrupted =
    "an earlier installation was interrupted: run `dpkg --configure -a`, then this again";
constexpr std::string_view kLocked =
    "another installation runs in this sandbox: wait for its end (sandbox_info lists the "
    "commands), "
    "then run this again; no need to delete the lock";
constexpr std::string_view kNoLists =
    "the package lists are missing or old: run `apt-get update` first, in the same command";

constexpr std::string_view kNoRoom =
    "no room is left where it wrote: delete what isn't needed (`du -xh /workspace /tmp /var "
    "/dev/shm "
    "| sort -h | tail` shows the largest), then run this again";

// The first that matches: what has to be done before anything else comes first.
constexpr std::array<Failure, 11> kFailures = {{
    {"No space left on device", kNoRoom},
    {"Disk quota exceeded", kNoRoom},
    {"dpkg was interrupted, you must manually run", kInterrupted},
    {"Could not get lock /var/lib/dpkg/", kLocked},
    {"Could not get lock /var/lib/apt/", kLocked},
    {"Could not get lock /var/cache/apt/", kLocked},
    {"dpkg frontend lock was locked by ", kLocked},
    {"Unable to acquire the dpkg frontend lock", kLocked},
    {"E: Unable to locate package", kNoLists},
    {"has no installation candidate", kNoLists},
    {"E: Couldn't find any package by", kNoLists},
}};

}  // namespace

std::string_view KnownRemedy(std::string_view tail) {
  for (const Failure& failure : kFailures) {
    if (tail.find(failure.words) != std::string_view::npos) return failure.remedy;
  }
  return {};
}

}  // namespace sandkeep::mcp
