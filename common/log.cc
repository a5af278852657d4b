#include "common/log.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <cstddef>

#include "common/limits.h"
#include "common/strings.h"

namespace sandkeep {
namespace {

std::atomic<Severity> g_threshold{Severity::kInfo};

std::string_view NameOf(Severity severity) {
  constexpr std::array<std::string_view, 4> kNames = {"debug", "info", "warning", "error"};
  return kNames[static_cast<std::size_t>(severity)];
}

// Quotes, backslashes and control bytes are escaped: no value can start a line of its own.
void AppendEscaped(std::string* line, std::string_view value) {
  for (const char c : value.substr(0, kMaxLogValueBytes)) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      StrAppend(line, "\\", std::string_view(&c, 1));
    } else if (byte < 0x20 || byte == 0x7F) {
      StrAppend(line, "\\x", absl::Hex(byte, absl::kZeroPad2));
    } else {
      *line += c;
    }
  }
}

}  // namespace

void Log(Severity severity, std::string_view event, std::initializer_list<LogField> fields) {
  if (severity < g_threshold.load(std::memory_order_relaxed)) return;
  std::string line = StrCat(NameOf(severity), " ", event);
  for (const LogField& field : fields) {
    StrAppend(&line, " ", field.key(), "=\"");
    AppendEscaped(&line, field.value());
    line += '"';
  }
  line += '\n';
  // A log that can't be written is not worth failing for.
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
}

void SetLogThreshold(Severity threshold) {
  g_threshold.store(threshold, std::memory_order_relaxed);
}

}  // namespace sandkeep
