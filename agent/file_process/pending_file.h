// The agent's end of a file that is being written, and what both it and the handle on the file
// process make of replies. For files of this folder.
#pragma once

#include <memory>
#include <string>

#include "agent/file_process/connection.h"
#include "agent/file_process/file_process.h"

namespace sandkeep {

FileEntry ToEntry(const files::v1::Entry& entry, std::string path);

// `answer` has been checked to be a Created with its descriptor.
std::unique_ptr<PendingFile> MakePendingFile(FileConnection::Strand strand, FileAnswer answer,
                                             std::string path);

}  // namespace sandkeep
