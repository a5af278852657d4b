// One line a fact, on standard error, as `level event key="value" …`: journald keeps time and
// process. A line is one write, so lines never mix. Values are escaped; a Secret can't be given.
// Any thread.
//
//   Log(Severity::kWarning, "engine.slow", {{"call", "start"}, {"ms", 1200}});
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>

#include "absl/status/status.h"

namespace sandkeep {

enum class Severity { kDebug, kInfo, kWarning, kError };

class LogField {
 public:
  LogField(std::string_view key, std::string_view value) : key_(key), value_(value) {}
  LogField(std::string_view key, const char* value) : key_(key), value_(value) {}
  LogField(std::string_view key, const std::string& value) : key_(key), value_(value) {}
  LogField(std::string_view key, const absl::Status& status)
      : key_(key), value_(status.ToString()) {}
  LogField(std::string_view key, bool value) : key_(key), value_(value ? "true" : "false") {}
  template <typename Number>
    requires std::is_integral_v<Number>
  LogField(std::string_view key, Number value) : key_(key), value_(std::to_string(value)) {}

  std::string_view key() const { return key_; }
  std::string_view value() const { return value_; }

 private:
  std::string_view key_;
  std::string value_;
};

void Log(Severity severity, std::string_view event, std::initializer_list<LogField> fields = {});

// Lines below this are dropped. Default: info.
void SetLogThreshold(Severity threshold);

}  // namespace sandkeep
