#include "agent/sandbox/disk_terms.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_format.h"
#include "common/limits.h"
#include "common/strings.h"

namespace sandkeep {
namespace {

constexpr std::string_view kGoesOn =
    "; it goes on by itself when there is room again, stop_command ends it";

// A command that goes on at the very limit would wait again at once.
std::int64_t Spare(std::int64_t limit) { return std::min<std::int64_t>(limit / 20, 256LL << 20); }

bool IsOver(std::int64_t used, std::int64_t limit) { return limit > 0 && used >= limit; }

bool IsWellUnder(std::int64_t used, std::int64_t limit) {
  return limit == 0 || used < limit - Spare(limit);
}

}  // namespace

std::int64_t DiskUse::charged() const {
  const std::int64_t bytes =
      std::max<std::int64_t>(workspace, 0) + std::max<std::int64_t>(layer, 0);
  return std::max(bytes, names * kBytesPerName);
}

std::string DiskWords(std::int64_t bytes) {
  constexpr double kGib = 1 << 30;
  if (bytes >= (1 << 30)) return absl::StrFormat("%.1f GiB", static_cast<double>(bytes) / kGib);
  return StrCat(bytes >> 20, " MiB");
}

std::string TooMuch(const DiskStanding& standing, const DiskTerms& terms) {
  if (standing.grown < kLeastGrowth) return "";
  if (IsOver(standing.charged, terms.sandbox)) {
    return StrCat("paused, since this sandbox has used up its ", DiskWords(terms.sandbox),
                  " of disk, files and packages together: delete what isn't needed with another "
                  "command in it",
                  kGoesOn);
  }
  if (IsOver(standing.of_principal, terms.principal)) {
    return StrCat("paused, since your sandboxes together have used up their ",
                  DiskWords(terms.principal),
                  " of disk: delete files in this or another one, or remove one that nobody needs "
                  "(remove_sandbox with files=true)",
                  kGoesOn);
  }
  if (standing.free < terms.floor) {
    return StrCat("paused, since this host's disk is nearly full (", DiskWords(standing.free),
                  " free) and it writes: delete files with another command in this sandbox, or "
                  "tell whoever runs this host",
                  kGoesOn);
  }
  return "";
}

DiskTerms UsedUp(const DiskStanding& standing, const DiskTerms& terms) {
  return {.sandbox = IsOver(standing.charged, terms.sandbox) ? terms.sandbox : 0,
          .principal = IsOver(standing.of_principal, terms.principal) ? terms.principal : 0,
          .floor = standing.free < terms.floor ? terms.floor : 0};
}

bool HasRoomAgain(const DiskStanding& standing, const DiskTerms& terms) {
  return IsWellUnder(standing.charged, terms.sandbox) &&
         IsWellUnder(standing.of_principal, terms.principal) &&
         standing.free >= terms.floor + Spare(terms.floor);
}

std::int64_t RoomLeft(const DiskStanding& standing, const DiskTerms& terms) {
  std::int64_t room = std::numeric_limits<std::int64_t>::max();
  if (terms.sandbox > 0) room = std::min(room, terms.sandbox - standing.charged);
  if (terms.principal > 0) room = std::min(room, terms.principal - standing.of_principal);
  if (terms.floor > 0) room = std::min(room, standing.free - terms.floor);
  return std::max<std::int64_t>(room, 0);
}

bool IsNearly(std::int64_t used, std::int64_t all) {
  return all > 0 && used * 100 >= all * kWarnPercent;
}

std::vector<DiskWarning> NearlyTooMuch(const DiskStanding& standing, const DiskTerms& terms) {
  std::vector<DiskWarning> warnings;
  if (IsNearly(standing.charged, terms.sandbox)) {
    warnings.push_back(
        {"sandbox_disk", StrCat("this sandbox uses ", DiskWords(standing.charged), " of its ",
                                DiskWords(terms.sandbox),
                                " of disk, files and packages together: delete what isn't needed, "
                                "or its commands will be paused")});
  }
  if (IsNearly(standing.of_principal, terms.principal)) {
    warnings.push_back(
        {"principal_disk",
         StrCat("your sandboxes together use ", DiskWords(standing.of_principal), " of their ",
                DiskWords(terms.principal),
                " of disk: delete files, or remove a sandbox that nobody needs (remove_sandbox "
                "with files=true), or what writes will be paused")});
  }
  return warnings;
}

}  // namespace sandkeep
