// Uploads as the tools see them: a page for the person is opened, and what arrived by it is told.
// The uploads folder has the real one. Thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/async.h"

namespace sandkeep::mcp {

struct UploadRequest {
  std::string principal;
  std::string label;    // Normalised.
  std::string path;     // Below the workspace.
  bool folder = false;  // Files keep their own names, below `path`; else one file becomes it.
  std::int64_t max_bytes = 0;  // Of all files together.
};

struct OpenedUpload {
  std::string name;  // For wait_upload; opens nothing.
  std::string path;  // Of the page, below the public base: permission for whoever has it.
  std::chrono::seconds lifetime{0};
};

struct ArrivedFile {
  std::string path;
  std::int64_t size = 0;
};

struct UploadView {
  std::vector<ArrivedFile> files;
  int under_way = 0;
  bool over = false;  // The person is done, or its time is over: nothing more will come.
};

class UploadDesk {
 public:
  virtual ~UploadDesk() = default;

  // ResourceExhausted: this principal has too many open ones.
  virtual Async<OpenedUpload> Open(UploadRequest request) = 0;

  // Until something has arrived and nothing is under way, or it is over, or the time has come.
  // NotFound: this principal has no such upload for this sandbox.
  virtual Async<UploadView> Wait(std::string principal, std::string label, std::string name,
                                 std::chrono::steady_clock::time_point until) = 0;
};

}  // namespace sandkeep::mcp
