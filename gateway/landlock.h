// What this process may still reach by a path or over the network, by the kernel's Landlock: the
// folders and files that are named, and nothing else. Rules hold for what a path led to when they
// were made, and for all below it.
//
// Before the first thread; needs no_new_privs. What is missing in an older kernel is left out, and
// the version in force is the answer.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace sandkeep {

struct Reach {
  // Files below these are read, written, made and removed. Nothing is executed, and nothing but
  // regular files is made.
  std::vector<std::string> written;
  // Files below these folders, or these files, are read. One that isn't there is left out.
  std::vector<std::string> read;
  // Whether sockets in the abstract name space are connected to.
  bool abstract_sockets = false;
};

// 1 Files; 3 truncating too; 4 no TCP port is bound or connected to; 5 no device is controlled; 6
// no signal and no abstract socket of others.
inline constexpr int kLandlockWhole = 6;

// The kernel's version of Landlock, 0 if it has none or it is switched off.
int LandlockVersion();

// Returns the version that is in force from now on, 0 if none is.
absl::StatusOr<int> RestrictReach(const Reach& reach);

}  // namespace sandkeep
