#include "agent/init/environment.h"

#include <algorithm>
#include <array>
#include <utility>

#include "common/limits.h"
#include "common/strings.h"

namespace sandkeep::init {
namespace {

using Entry = std::pair<std::string_view, std::string_view>;

constexpr std::array<Entry, 9> kBase = {{
    {"PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
    {"HOME", "/root"},
    {"USER", "root"},
    {"LOGNAME", "root"},
    {"SHELL", "/bin/bash"},
    {"LANG", "C.UTF-8"},
    {"TERM", "dumb"},
    // Nobody is there who could turn a page or answer a question.
    {"PAGER", "cat"},
    {"DEBIAN_FRONTEND", "noninteractive"},
}};

bool HasNul(std::string_view text) { return text.find('\0') != std::string_view::npos; }

}  // namespace

absl::StatusOr<Environment> Environment::Make(const v1::Start& start) {
  if (static_cast<std::size_t>(start.env_size()) > kMaxEnvEntries) {
    return absl::InvalidArgumentError("too many variables");
  }
  Environment environment;
  for (const auto& [name, value] : kBase) environment.Set(name, value);
  std::size_t bytes = 0;
  for (const v1::Variable& variable : start.env()) {
    const std::string& name = variable.name();
    if (name.empty() || name.find('=') != std::string::npos || HasNul(name) ||
        HasNul(variable.value())) {
      return absl::InvalidArgumentError("a variable that no environment can hold");
    }
    bytes += name.size() + variable.value().size();
    environment.Set(name, variable.value());
  }
  if (bytes > kMaxEnvBytes) return absl::InvalidArgumentError("variables over 64 KiB");
  return environment;
}

std::vector<char*> Environment::Pointers() {
  std::vector<char*> pointers;
  pointers.reserve(entries_.size() + 1);
  for (std::string& entry : entries_) pointers.push_back(entry.data());
  pointers.push_back(nullptr);
  return pointers;
}

void Environment::Set(std::string_view name, std::string_view value) {
  std::string entry = StrCat(name, "=", value);
  const std::string_view prefix = std::string_view(entry).substr(0, name.size() + 1);
  const auto old = std::find_if(entries_.begin(), entries_.end(), [&](const std::string& e) {
    return e.compare(0, prefix.size(), prefix) == 0;
  });
  if (old != entries_.end()) {
    *old = std::move(entry);
  } else {
    entries_.push_back(std::move(entry));
  }
}

}  // namespace sandkeep::init
