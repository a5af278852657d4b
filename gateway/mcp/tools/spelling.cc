#include "gateway/mcp/tools/spelling.h"

#include <utf8proc.h>

#include <cstdlib>
#include <memory>

namespace sandkeep::mcp {

std::optional<std::string> Composed(std::string_view text) {
  constexpr auto kComposed = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE);
  utf8proc_uint8_t* made = nullptr;
  const utf8proc_ssize_t size =
      utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                   static_cast<utf8proc_ssize_t>(text.size()), &made, kComposed);
  const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owned(made, &std::free);
  if (size < 0) return std::nullopt;
  return std::string(reinterpret_cast<const char*>(made), static_cast<std::size_t>(size));
}

std::optional<std::string> SameSpelling(std::string_view wanted,
                                        const std::vector<std::string>& paths) {
  const std::optional<std::string> sought = Composed(wanted);
  if (!sought) return std::nullopt;
  std::optional<std::string> found;
  for (const std::string& path : paths) {
    if (Composed(path) != sought) continue;
    if (found) return std::nullopt;
    found = path;
  }
  return found;
}

}  // namespace sandkeep::mcp
