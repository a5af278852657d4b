#include "agent/runtime/subordinate_ids.h"

#include <pwd.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <limits>
#include <optional>

#include "agent/runtime/small_file.h"
#include "common/limits.h"
#include "common/status_macros.h"
#include "common/strings.h"

namespace sandkeep {
namespace {

std::optional<std::uint32_t> Number(std::string_view text) {
  std::uint32_t number = 0;
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || at != end) return std::nullopt;
  return number;
}

std::string OwnName() {
  passwd entry{};
  passwd* found = nullptr;
  std::array<char, 4_KiB> buffer;
  if (::getpwuid_r(::getuid(), &entry, buffer.data(), buffer.size(), &found) != 0) return "";
  return found != nullptr ? found->pw_name : "";
}

}  // namespace

absl::StatusOr<SubordinateRange> ParseSubordinateIds(std::string_view text, std::string_view user,
                                                     uid_t uid) {
  const std::string number = StrCat(uid);
  for (const std::string_view line : Split(text, '\n')) {
    const auto fields = Split(line, ':');
    if (fields.size() != 3 || fields[0].empty()) continue;
    if (fields[0] != user && fields[0] != number) continue;
    const auto start = Number(fields[1]);
    const auto count = Number(fields[2]);
    if (!start || !count || *start == 0 || *count == 0) continue;
    if (*count > std::numeric_limits<std::uint32_t>::max() - *start) continue;
    return SubordinateRange{*start, *count};
  }
  return absl::NotFoundError("no subordinate ids");
}

absl::StatusOr<SubordinateRange> OwnSubordinateIds(const std::string& file) {
  const std::string user = OwnName();
  const auto text = ReadSmallFile(file, 1_MiB);
  if (text.ok()) {
    if (auto range = ParseSubordinateIds(*text, user, ::getuid()); range.ok()) return range;
  }
  const std::string_view kind = file.find("gid") == std::string::npos ? "uids" : "gids";
  return absl::FailedPreconditionError(StrCat("the user ", user, " has no subordinate ids in ",
                                              file, ": run usermod --add-sub", kind,
                                              " 100000-165535 ", user, " as root"));
}

}  // namespace sandkeep
