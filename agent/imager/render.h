// The whole of sandkeep-imager's work: a file in, a picture out that any program can show.
#pragma once

#include <string_view>

#include "absl/status/statusor.h"
#include "agent/imager/rendered_image.h"

namespace sandkeep {

// The file itself if it is within bounds and sound, else a smaller picture of it, upright.
// InvalidArgument: damaged, or no picture. ResourceExhausted: too many pixels.
absl::StatusOr<RenderedImage> Render(std::string_view file, const ImageBounds& bounds);

}  // namespace sandkeep
