// The agent's handle on sandkeep-imager: one process for each picture, kMaxImagers at once, the
// others wait, each principal for its own. Thread-safe; calls resume on the caller's executor.
//
// InvalidArgument: no picture, or a damaged one. ResourceExhausted: too large a one, or too many at
// once. Unavailable:
// the program couldn't be started. Their messages are for the model.
#pragma once

#include <memory>
#include <string>

#include "agent/imager/rendered_image.h"
#include "common/async.h"
#include "common/unique_fd.h"

namespace sandkeep {

class FairGate;

class Imager {
 public:
  // `program`: sandkeep-imager on this host.
  explicit Imager(std::string program);
  ~Imager();
  Imager(const Imager&) = delete;
  Imager& operator=(const Imager&) = delete;

  // `file` is read from where it stands, to its end. `whose`: who waits for their own alone.
  Async<RenderedImage> Render(std::string whose, UniqueFd file, ImageBounds bounds);

 private:
  const std::string program_;
  const std::shared_ptr<FairGate> gate_;
};

}  // namespace sandkeep
