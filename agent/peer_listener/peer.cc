#include "agent/peer_listener/peer.h"

#include <pwd.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>

#include "absl/strings/numbers.h"
#include "common/mistakes.h"
#include "common/status_macros.h"
#include "common/strings.h"

namespace sandkeep {
namespace {

constexpr std::string_view kFrontends = "AGENT_FRONTEND_UIDS";
constexpr std::string_view kOperators = "AGENT_OPERATOR_UIDS";

struct Entry {
  uid_t uid = 0;
  std::string prefix;
};

absl::Status Refuse(std::string_view setting, std::string_view entry, std::string_view why) {
  return absl::InvalidArgumentError(StrCat(setting, ": ", entry, ": ", why));
}

std::optional<uid_t> UidOfName(const std::string& name) {
  std::array<char, 16384> buffer;
  struct passwd entry;
  struct passwd* found = nullptr;
  if (::getpwnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found) != 0) return {};
  if (found == nullptr) return {};
  return entry.pw_uid;
}

std::optional<uid_t> UidOf(const std::string& user) {
  const bool number = !user.empty() && std::all_of(user.begin(), user.end(),
                                                   [](char c) { return c >= '0' && c <= '9'; });
  if (!number) return UidOfName(user);
  uint32_t uid = 0;
  // The last number means "no user" to the kernel.
  if (!absl::SimpleAtoi(user, &uid) || uid == std::numeric_limits<uid_t>::max()) return {};
  return uid;
}

bool IsPrefix(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
  });
}

absl::StatusOr<Entry> ParseEntry(std::string_view setting, std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::optional<uid_t> uid = UidOf(std::string(text.substr(0, colon)));
  if (!uid.has_value()) return Refuse(setting, text, "no such user on this machine");
  if (colon == std::string_view::npos) return Entry{*uid, ""};
  const std::string_view prefix = text.substr(colon + 1);
  if (setting == kOperators) return Refuse(setting, text, "an operator has no prefix");
  if (!IsPrefix(prefix)) return Refuse(setting, text, "a prefix is of a-z and 0-9");
  return Entry{*uid, std::string(prefix)};
}

std::vector<Entry> ParseList(std::string_view setting, const std::vector<std::string>& list,
                             Mistakes& mistakes) {
  std::vector<Entry> entries;
  for (const std::string& text : list) {
    absl::StatusOr<Entry> entry = ParseEntry(setting, text);
    mistakes.Add(entry.status());
    if (!entry.ok()) continue;
    const bool twice = std::any_of(entries.begin(), entries.end(), [&entry](const Entry& other) {
      return other.uid == entry->uid;
    });
    if (twice) mistakes.Add(Refuse(setting, text, "this user is listed twice"));
    entries.push_back(*std::move(entry));
  }
  return entries;
}

}  // namespace

absl::StatusOr<std::vector<Peer>> ParsePeers(const std::vector<std::string>& frontends,
                                             const std::vector<std::string>& operators) {
  Mistakes mistakes;
  const std::vector<Entry> front_entries = ParseList(kFrontends, frontends, mistakes);
  const std::vector<Entry> operator_entries = ParseList(kOperators, operators, mistakes);
  RETURN_IF_ERROR(mistakes.status());
  std::vector<Peer> peers;
  for (const Entry& entry : front_entries) {
    peers.push_back({.uid = entry.uid, .frontend = true, .operate = false, .prefix = entry.prefix});
  }
  for (const Entry& entry : operator_entries) {
    const auto known = std::find_if(peers.begin(), peers.end(),
                                    [&](const Peer& peer) { return peer.uid == entry.uid; });
    if (known != peers.end()) {
      known->operate = true;
    } else {
      peers.push_back({.uid = entry.uid, .frontend = false, .operate = true, .prefix = ""});
    }
  }
  return peers;
}

}  // namespace sandkeep
