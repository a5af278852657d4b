#include "common/settings.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <sstream>

#include "absl/strings/ascii.h"
#include "common/limits.h"
#include "common/mistakes.h"
#include "common/status_macros.h"
#include "common/strings.h"

namespace sandkeep {
namespace {

constexpr Process agent = Process::kAgent;
constexpr Process gateway = Process::kGateway;
constexpr Process both = Process::kBoth;
using enum SettingKind;

#define SETTING(process, NAME, flag, kind, conversation, persistent, least, most, meaning) \
  SettingSpec{process, #NAME, #flag, kind, conversation, persistent, least, most, meaning},
constexpr std::array kTable = {
#include "common/settings.inc"
};
#undef SETTING

// What the two replaced systems called some of them; accepted with a warning.
struct SettingAlias {
  std::string_view old_name;
  std::string_view name;
};
constexpr std::array kAliases = {
    SettingAlias{"SANDBOX_PUBLIC_URL", "MCP_PUBLIC_BASE"},
    SettingAlias{"LINK_TTL", "SANDBOX_LINK_TTL"},
    SettingAlias{"EXEC_TIMEOUT", "SANDBOX_MAX_TIMEOUT"},
};

// What they had and has no meaning here: passed over with a warning, so that their files serve.
struct FormerSetting {
  Process process;
  std::string_view name;
  std::string_view why;
};
constexpr std::string_view kNamesAreOurs = "containers and volumes bear names of our own";
constexpr std::array kFormer = {
    FormerSetting{agent, "SANDBOX_CONTAINER", kNamesAreOurs},
    FormerSetting{agent, "SANDBOX_VOLUME", kNamesAreOurs},
    FormerSetting{gateway, "OAUTH_STATE_FILE", "sign-ins are kept in STATE_DIR"},
};

const FormerSetting* FindFormer(std::string_view name) {
  for (const FormerSetting& former : kFormer) {
    if (former.name == name) return &former;
  }
  return nullptr;
}

const SettingSpec* Find(std::string_view name) {
  for (const SettingSpec& spec : kTable) {
    if (spec.name == name) return &spec;
  }
  return nullptr;
}

bool IsNumber(SettingKind kind) {
  return kind == kSeconds || kind == kBytes || kind == kCount || kind == kSwitch;
}

bool Concerns(const SettingSpec& spec, Process process) {
  return spec.process == Process::kBoth || spec.process == process;
}

std::string_view Unquoted(std::string_view text) {
  const bool quoted = text.size() >= 2 && (text.front() == '"' || text.front() == '\'') &&
                      text.back() == text.front();
  return quoted ? text.substr(1, text.size() - 2) : text;
}

std::string_view Trimmed(std::string_view text) {
  return ToStd(absl::StripAsciiWhitespace(ToAbsl(text)));
}

// What is wrong with a value, or nothing. A secret's value never appears.
std::string Mistake(const SettingSpec& spec, std::string_view value) {
  if (value.empty() || !IsNumber(spec.kind)) return "";
  const absl::StatusOr<std::int64_t> number = ParseNumber(value);
  if (!number.ok()) return StrCat(spec.name, "=", value, ": ", number.status().message());
  if (*number < spec.least || *number > spec.most) {
    return StrCat(spec.name, "=", value, ": must be from ", spec.least, " to ", spec.most);
  }
  return "";
}

std::string ChoiceMistake(std::string_view name, std::string_view value,
                          std::initializer_list<std::string_view> choices) {
  std::string list;
  for (const std::string_view choice : choices) {
    if (value == choice) return "";
    StrAppend(&list, list.empty() ? "" : ", ", choice);
  }
  return StrCat(name, "=", value, ": must be one of ", list);
}

// Collects values by name from one source after the other, and every mistake on the way.
class Reader {
 public:
  explicit Reader(Process process) : process_(process) {}

  // `strict`: an unknown name is a mistake.
  void Take(std::string_view name, std::string_view value, std::string_view source, bool strict) {
    for (const SettingAlias& alias : kAliases) {
      if (alias.old_name != name) continue;
      warnings.push_back(
          StrCat(name, " is an old name of ", alias.name, ": please rename it (", source, ")"));
      name = alias.name;
    }
    if (const FormerSetting* former = FindFormer(name)) {
      if (former->process != process_) return;
      warnings.push_back(StrCat(name, " changes nothing: ", former->why, " (", source, ")"));
      return;
    }
    const SettingSpec* spec = Find(name);
    if (spec == nullptr) {
      if (strict) mistakes.Add(StrCat(name, ": no such setting (", source, ")"));
      return;
    }
    if (!Concerns(*spec, process_)) return;
    if (std::string mistake = Mistake(*spec, value); !mistake.empty()) {
      mistakes.Add(StrCat(mistake, " (", source, ")"));
      return;
    }
    values[std::string(name)] = std::string(value);
  }

  void TakeFile(const std::string& path) {
    std::ifstream file(path);
    if (!file) {
      mistakes.Add(StrCat("can't read the settings file ", path));
      return;
    }
    std::string line;
    for (int number = 1; std::getline(file, line); ++number)
      TakeLine(line, StrCat(path, ":", number));
  }

  std::map<std::string, std::string, std::less<>> values;
  Mistakes mistakes;
  std::vector<std::string> warnings;

 private:
  void TakeLine(std::string_view line, std::string_view source) {
    line = Trimmed(line);
    if (line.empty() || line.front() == '#' || line.front() == ';') return;
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos) {
      mistakes.Add(StrCat(source, ": expected NAME=value"));
      return;
    }
    Take(Trimmed(line.substr(0, equals)), Unquoted(Trimmed(line.substr(equals + 1))), source, true);
  }

  Process process_;
};

void AddChoiceMistakes(Reader& reader) {
  struct Choice {
    std::string_view name;
    std::initializer_list<std::string_view> values;
  };
  const std::initializer_list<Choice> choices = {
      {"SANDBOX_PROFILE", {"conversation", "persistent"}},
      {"SANDBOX_RECYCLE", {"freeze", "remove"}},
      {"SANDBOX_NETWORK", {"internet", "full", "none"}},
      {"SANDBOX_SECCOMP", {"strict", "default"}},
  };
  for (const Choice& choice : choices) {
    const auto found = reader.values.find(choice.name);
    if (found == reader.values.end()) continue;
    const std::string mistake = ChoiceMistake(choice.name, found->second, choice.values);
    if (!mistake.empty()) reader.mistakes.Add(mistake);
  }
}

}  // namespace

absl::Span<const SettingSpec> SettingTable() { return kTable; }

absl::StatusOr<std::int64_t> ParseNumber(std::string_view text) {
  std::int64_t unit = 1;
  std::string_view digits = text;
  if (!digits.empty()) {
    switch (absl::ascii_tolower(static_cast<unsigned char>(digits.back()))) {
      case 'k':
        unit = 1LL << 10;
        break;
      case 'm':
        unit = 1LL << 20;
        break;
      case 'g':
        unit = 1LL << 30;
        break;
      default:
        break;
    }
    if (unit != 1) digits.remove_suffix(1);
  }
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  const bool whole =
      error == std::errc() && end == digits.data() + digits.size() && !digits.empty();
  if (!whole || number < 0 || number > std::numeric_limits<std::int64_t>::max() / unit) {
    return absl::InvalidArgumentError("must be a whole number, k, m and g are allowed");
  }
  return number * unit;
}

absl::StatusOr<Settings> Settings::Load(const SettingSources& sources) {
  Reader reader(sources.process);
  if (!sources.env_file.empty()) reader.TakeFile(sources.env_file);
  for (const auto& [name, value] : sources.environment)
    reader.Take(name, value, "environment", false);
  for (const auto& [name, value] : sources.flags) reader.Take(name, value, "command line", true);
  AddChoiceMistakes(reader);
  Settings settings;
  settings.values_ = std::move(reader.values);
  settings.warnings_ = std::move(reader.warnings);
  const auto profile = settings.values_.find("SANDBOX_PROFILE");
  settings.persistent_ = profile != settings.values_.end() && profile->second == "persistent";
  for (const SettingSpec& spec : kTable) {
    if (!Concerns(spec, sources.process)) continue;
    std::string& value = settings.values_[std::string(spec.name)];
    if (value.empty()) {
      settings.defaulted_.emplace(spec.name);
      value =
          std::string(settings.persistent_ ? spec.persistent_default : spec.conversation_default);
    }
  }
  if (sources.check) reader.mistakes.Add(sources.check(settings));
  RETURN_IF_ERROR(reader.mistakes.status());
  return settings;
}

const std::string& Settings::Raw(std::string_view name) const {
  const auto found = values_.find(name);
  // A name that the table lacks is a mistake in the program.
  if (found == values_.end()) std::abort();
  return found->second;
}

std::int64_t Settings::Int(std::string_view name, std::int64_t fallback) const {
  const std::string& raw = Raw(name);
  return raw.empty() ? fallback : ParseNumber(raw).value();
}

std::string Settings::Text(std::string_view name) const { return Raw(name); }

std::vector<std::string> Settings::List(std::string_view name) const {
  std::vector<std::string> items;
  for (const std::string_view item : Split(Raw(name), ',')) {
    if (!Trimmed(item).empty()) items.emplace_back(Trimmed(item));
  }
  return items;
}

Secret Settings::SecretText(std::string_view name) const { return Secret(Raw(name)); }
std::int64_t Settings::PersistentInt(std::string_view name) const {
  if (!defaulted_.contains(name)) return Int(name);
  const auto spec = std::find_if(kTable.begin(), kTable.end(),
                                 [&](const SettingSpec& one) { return one.name == name; });
  return spec == kTable.end() ? Int(name) : ParseNumber(spec->persistent_default).value_or(0);
}

bool Settings::IsSet(std::string_view name) const { return !Raw(name).empty(); }

std::vector<std::pair<std::string, std::string>> EnvironmentOfProcess() {
  std::vector<std::pair<std::string, std::string>> variables;
  for (char** entry = ::environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    variables.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  return variables;
}

}  // namespace sandkeep
