// What works on files: for all peers together, but for the tickets, which are of one. References to
// what the server owns; plain value.
#pragma once

#include <memory>

#include "agent/imager/imager.h"
#include "agent/service/file_disk.h"
#include "agent/service/file_tickets.h"
#include "agent/service/placed_parts.h"

namespace sandkeep {

struct FileServices {
  FileDisk& disk;
  Imager& imager;
  PlacedParts& placed;
  std::shared_ptr<FileTickets> tickets;
};

}  // namespace sandkeep
