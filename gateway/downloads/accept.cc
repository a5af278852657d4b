#include "gateway/downloads/accept.h"

#include <algorithm>
#include <optional>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "common/strings.h"

namespace sandkeep {
namespace {

constexpr int kMost = 1000;

std::string_view Trimmed(std::string_view text) {
  return ToStd(absl::StripAsciiWhitespace(ToAbsl(text)));
}

// In thousandths: at most three digits may follow the point.
std::optional<int> WeightOf(std::string_view text) {
  const bool whole = text == "1" || text == "0";
  if (whole) return text == "1" ? kMost : 0;
  if (text.size() < 2 || text.size() > 5 || text[1] != '.') return std::nullopt;
  if (text[0] != '0' && text[0] != '1') return std::nullopt;
  int weight = text[0] == '1' ? kMost : 0;
  int unit = kMost / 10;
  for (const char digit : text.substr(2)) {
    if (!absl::ascii_isdigit(static_cast<unsigned char>(digit))) return std::nullopt;
    weight += (digit - '0') * unit;
    unit /= 10;
  }
  if (weight > kMost) return std::nullopt;
  return weight;
}

struct Wanted {
  std::string type;  // In lower case.
  int weight = kMost;
};

std::optional<Wanted> WantedIn(std::string_view member) {
  Wanted wanted;
  bool first = true;
  for (std::string_view part : Split(member, ';')) {
    part = Trimmed(part);
    if (first) {
      wanted.type = absl::AsciiStrToLower(ToAbsl(part));
      if (std::count(part.begin(), part.end(), '/') != 1) return std::nullopt;
    } else if (absl::StartsWithIgnoreCase(ToAbsl(part), "q=")) {
      const std::optional<int> weight = WeightOf(part.substr(2));
      if (!weight.has_value()) return std::nullopt;
      wanted.weight = *weight;
    }
    first = false;
  }
  return wanted;
}

bool FitsArchive(std::string_view type) {
  return type == "*/*" || type == "application/*" || type == "application/zip" ||
         type == "application/x-tar" || type == "application/octet-stream";
}

}  // namespace

bool PrefersPage(std::string_view accept) {
  int page = 0;
  int archive = 0;
  for (const std::string_view member : Split(accept, ',')) {
    if (Trimmed(member).empty()) continue;
    const std::optional<Wanted> wanted = WantedIn(member);
    if (!wanted.has_value()) return false;
    if (wanted->type == "text/html") page = std::max(page, wanted->weight);
    if (FitsArchive(wanted->type)) archive = std::max(archive, wanted->weight);
  }
  return page > archive;
}

}  // namespace sandkeep
