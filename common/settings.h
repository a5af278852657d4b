// The settings of both processes: one table (settings.inc), one reader. A process gives its
// sources, gets every value parsed and in range, or every mistake at once, by name. Read before the
// first thread; then a plain value.
//
// Rising precedence: the table's default, the env file, the environment, the command line. An
// unknown name in an env file is a mistake; from the environment only known names are taken. A
// setting of the other process is passed over: one file may serve both.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/secret.h"

namespace sandkeep {

enum class Process { kAgent, kGateway, kBoth };

enum class SettingKind { kText, kSecret, kList, kSeconds, kBytes, kCount, kSwitch };

struct SettingSpec {
  Process process;
  std::string_view name;
  std::string_view flag;
  SettingKind kind;
  std::string_view conversation_default;
  std::string_view persistent_default;
  std::int64_t least;
  std::int64_t most;
  std::string_view meaning;
};

absl::Span<const SettingSpec> SettingTable();

class Settings;

struct SettingSources {
  Process process = Process::kAgent;
  std::string env_file;  // Path; empty: none.
  // As getenv gives them; the real environment in main, a table in tests.
  std::vector<std::pair<std::string, std::string>> environment;
  std::vector<std::pair<std::string, std::string>> flags;  // By setting name.
  // What the table can't judge, asked of the values that could be read; may be empty.
  std::function<absl::Status(const Settings&)> check;
};

class Settings {
 public:
  // InvalidArgument: the message has one line for each mistake.
  static absl::StatusOr<Settings> Load(const SettingSources& sources);

  // `name` must be in the table and of that kind. Unset numbers without a default: the fallback.
  std::int64_t Int(std::string_view name, std::int64_t fallback = 0) const;
  bool Switch(std::string_view name) const { return Int(name) != 0; }
  std::string Text(std::string_view name) const;
  std::vector<std::string> List(std::string_view name) const;
  Secret SecretText(std::string_view name) const;
  bool IsSet(std::string_view name) const;
  // As Int, where only the other process knows the profile, and it is the persistent one.
  std::int64_t PersistentInt(std::string_view name) const;

  bool persistent() const { return persistent_; }
  // For the log: old names in use, settings passed over.
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  const std::string& Raw(std::string_view name) const;

  std::map<std::string, std::string, std::less<>> values_;
  std::set<std::string, std::less<>> defaulted_;
  bool persistent_ = false;
  std::vector<std::string> warnings_;
};

// A whole number with an optional k, m or g (1024 each).
absl::StatusOr<std::int64_t> ParseNumber(std::string_view text);

// The process's environment, for SettingSources.
std::vector<std::pair<std::string, std::string>> EnvironmentOfProcess();

}  // namespace sandkeep
