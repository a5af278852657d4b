#include "gateway/mcp/tools/line_window.h"

#include <algorithm>

namespace sandkeep::mcp {

void LineWindow::Add(std::string_view bytes) {
  while (!bytes.empty() && !full()) {
    const std::size_t feed = bytes.find('\n');
    std::string_view piece = bytes.substr(0, feed == std::string_view::npos ? feed : feed + 1);
    bytes.remove_prefix(piece.size());
    if (line_ >= first_) {
      const std::size_t room = max_bytes_ - text_.size();
      cut_ = piece.size() > room;
      piece = piece.substr(0, room);
      text_ += piece;
    }
    at_line_start_ = feed != std::string_view::npos && !cut_;
    if (at_line_start_) ++line_;
  }
  passed_over_ = passed_over_ || !bytes.empty();
}

}  // namespace sandkeep::mcp
