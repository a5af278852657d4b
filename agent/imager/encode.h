// A picture as a file of at most so many bytes: made smaller, step by step, until it is one.
#pragma once

#include "absl/status/statusor.h"
#include "agent/imager/bitmap.h"
#include "agent/imager/rendered_image.h"

namespace sandkeep {

// `photo`: it came as a JPEG, and is one again. Others become a PNG, which loses nothing, if that
// is small enough; else a JPEG, or a WebP if something shines through. ResourceExhausted: there is
// no room for even a small one.
absl::StatusOr<RenderedImage> Encode(Bitmap bitmap, bool photo, std::int64_t max_bytes);

}  // namespace sandkeep
