#include "agent/jobs/command_head.h"

#include "common/limits.h"
#include "common/utf8.h"

namespace sandkeep {

std::string HeadOf(const std::string& command) {
  constexpr std::size_t kMaxBytesOfChar = 4;
  const std::string text = ToValidUtf8(command.substr(0, kCommandHeadChars * kMaxBytesOfChar));
  std::size_t chars = 0;
  std::size_t end = 0;
  for (; end < text.size(); ++end) {
    const bool begins = (static_cast<unsigned char>(text[end]) & 0xc0) != 0x80;
    if (begins && ++chars > kCommandHeadChars) break;
  }
  return text.substr(0, end);
}

}  // namespace sandkeep
