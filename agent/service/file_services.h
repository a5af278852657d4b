// What works on files for all peers together. References to what the server owns; plain value.
#pragma once

#include "agent/imager/imager.h"
#include "agent/service/file_disk.h"
#include "agent/service/placed_parts.h"

namespace sandkeep {

struct FileServices {
  FileDisk& disk;
  Imager& imager;
  PlacedParts& placed;
};

}  // namespace sandkeep
