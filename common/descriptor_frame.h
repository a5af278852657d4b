// What goes over the agent's descriptor socket, which stands beside its API's: frames of one letter
// and a ticket, which OpenFile gave out.
//
//   client  T ticket    hand over the ticket's descriptor
//           D ticket    done with it: the sandbox needn't be kept awake for it any more
//   agent   F ticket    here it is, riding on this frame
//           N ticket    there is none: an unknown ticket, one that was used, or whose time is over
//
// A client that breaks this is disconnected, and so is an agent. Any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "common/strings.h"

namespace sandkeep {

inline constexpr std::size_t kTicketBytes = 16;

enum class DescriptorWord : char { kTake = 'T', kDone = 'D', kFile = 'F', kNone = 'N' };

struct DescriptorFrame {
  DescriptorWord word;
  std::string ticket;

  std::string Text() const {
    return StrCat(std::string_view(reinterpret_cast<const char*>(&word), 1), ticket);
  }
  // nullopt: no such frame.
  static std::optional<DescriptorFrame> Parse(std::string_view text) {
    constexpr std::string_view kWords = "TDFN";
    if (text.size() != 1 + kTicketBytes || kWords.find(text.front()) == std::string_view::npos) {
      return std::nullopt;
    }
    return DescriptorFrame{static_cast<DescriptorWord>(text.front()), std::string(text.substr(1))};
  }
};

// Where that socket is.
inline std::string DescriptorSocketPath(const std::string& api_socket_path) {
  return StrCat(api_socket_path, ".fd");
}

}  // namespace sandkeep
