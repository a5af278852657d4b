// How much of the disk is too much: of one sandbox (SANDBOX_DISK), of all of one principal
// (PRINCIPAL_DISK), and of what the machine has (SANDBOX_MIN_FREE). Decides and words it only;
// plain values, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sandkeep {

// Of one sandbox, as last measured; -1: not yet.
struct DiskUse {
  std::int64_t workspace = -1;
  std::int64_t layer = -1;  // Of what was installed.
  std::int64_t names = 0;

  bool known() const { return workspace >= 0; }
  // What counts against the limits.
  std::int64_t charged() const;
};

// 0: no limit.
struct DiskTerms {
  std::int64_t sandbox = 0;
  std::int64_t principal = 0;
  std::int64_t floor = 0;
};

// Where a sandbox stands.
struct DiskStanding {
  std::int64_t charged = 0;
  std::int64_t grown = 0;  // Since it last grew by as much as counts.
  std::int64_t of_principal = 0;
  std::int64_t free = 0;  // Of the machine's disk.
};

// Why what runs in it is to wait, in words for the model, with the remedy. Empty: it isn't. Only
// what grows has to: who makes room must be able to.
std::string TooMuch(const DiskStanding& standing, const DiskTerms& terms);
// Of the limits, those that are used up.
DiskTerms UsedUp(const DiskStanding& standing, const DiskTerms& terms);
// There is room again, with some to spare: what waits may go on.
bool HasRoomAgain(const DiskStanding& standing, const DiskTerms& terms);
// What is left until the nearest limit.
std::int64_t RoomLeft(const DiskStanding& standing, const DiskTerms& terms);

// What is nearly used up (kWarnPercent), with the remedy. `kind` stays the same while the figures
// change.
struct DiskWarning {
  std::string_view kind;
  std::string text;
};
std::vector<DiskWarning> NearlyTooMuch(const DiskStanding& standing, const DiskTerms& terms);
bool IsNearly(std::int64_t used, std::int64_t all);

// `1.5 GiB`.
std::string DiskWords(std::int64_t bytes);

}  // namespace sandkeep
