// The page on which a person hands files to a sandbox: drop them or pick them, folders too. One
// script, by its hash; it sends pieces, and goes on where a broken one stopped. Any thread.
#pragma once

#include <cstdint>
#include <string>

namespace sandkeep {

struct UploadPageView {
  bool folder = true;  // Any number of files; else one.
  std::int64_t left_bytes = 0;
};

std::string UploadPage(const UploadPageView& view);

// The Content-Security-Policy that it needs.
const std::string& UploadPagePolicy();

}  // namespace sandkeep
