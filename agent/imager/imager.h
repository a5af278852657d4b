// The agent's handle on sandkeep-imager: one process for each picture, kMaxImagers at once, the
// others wait. Thread-safe; calls resume on the caller's executor.
//
// InvalidArgument: no picture, or a damaged one. ResourceExhausted: too large a one. Unavailable:
// the program couldn't be started. Their messages are for the model.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <memory>
#include <string>

#include "agent/imager/rendered_image.h"
#include "common/async.h"
#include "common/unique_fd.h"

namespace sandkeep {

class Gate;

class Imager {
 public:
  // `program`: sandkeep-imager on this host.
  Imager(const boost::asio::any_io_executor& executor, std::string program);
  ~Imager();
  Imager(const Imager&) = delete;
  Imager& operator=(const Imager&) = delete;

  // `file` is read from where it stands, to its end.
  Async<RenderedImage> Render(UniqueFd file, ImageBounds bounds);

 private:
  const std::string program_;
  const std::shared_ptr<Gate> gate_;
};

}  // namespace sandkeep
