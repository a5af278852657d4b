// A folder's link that was found good. Plain value.
#pragma once

#include "gateway/downloads/known_owners.h"
#include "gateway/downloads/link.h"

namespace sandkeep {

struct LinkedFolder {
  LinkClaim claim;
  ArchivedFolder folder;
  KnownOwner owner;
};

}  // namespace sandkeep
