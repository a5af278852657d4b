#include "gateway/mcp/tools/arguments.h"

#include <algorithm>
#include <array>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <charconv>
#include <cmath>

#include "common/strings.h"
#include "common/utf8.h"

namespace sandkeep::mcp {
namespace {

// Added by clients to every call (n8n), or by models as a comment on what they do.
constexpr std::array<std::string_view, 7> kIgnored = {
    "toolCallId", "sessionId", "chatInput", "action", "description", "explanation", "reason"};

std::string List(std::initializer_list<std::string_view> names) {
  std::string list;
  for (const std::string_view name : names) StrAppend(&list, list.empty() ? "" : ", ", name);
  return list;
}

std::optional<std::int64_t> WholeNumber(double number) {
  constexpr double kExact = 9007199254740992.0;  // 2^53
  if (std::floor(number) != number || std::fabs(number) > kExact) return std::nullopt;
  return static_cast<std::int64_t>(number);
}

std::optional<std::int64_t> NumberInText(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace

const boost::json::value* Arguments::Find(std::string_view name) const {
  const boost::json::value* value = values_.if_contains(boost::json::string_view(name));
  return value == nullptr || value->is_null() ? nullptr : value;
}

absl::Status Arguments::AllowOnly(std::initializer_list<std::string_view> names) const {
  for (const auto& member : values_) {
    const std::string_view name = member.key();
    const bool known = std::find(names.begin(), names.end(), name) != names.end() ||
                       std::find(kIgnored.begin(), kIgnored.end(), name) != kIgnored.end();
    if (known || member.value().is_null()) continue;
    return absl::InvalidArgumentError(StrCat("There is no argument '", Utf8Head(name, 60),
                                             "' here: give only ", List(names),
                                             ". Nothing was done."));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::optional<std::string>> Arguments::Text(std::string_view name) const {
  const boost::json::value* value = Find(name);
  if (value == nullptr) return std::nullopt;
  if (!value->is_string()) {
    return absl::InvalidArgumentError(StrCat("Give ", name, " as a string."));
  }
  return std::string(value->get_string());
}

absl::StatusOr<std::optional<std::int64_t>> Arguments::Integer(std::string_view name) const {
  const boost::json::value* value = Find(name);
  if (value == nullptr) return std::nullopt;
  std::optional<std::int64_t> number;
  if (const std::int64_t* integer = value->if_int64()) number = *integer;
  if (const double* fraction = value->if_double()) number = WholeNumber(*fraction);
  if (const boost::json::string* text = value->if_string()) number = NumberInText(*text);
  if (!number) return absl::InvalidArgumentError(StrCat("Give ", name, " as a whole number."));
  return number;
}

absl::StatusOr<bool> Arguments::Flag(std::string_view name) const {
  const boost::json::value* value = Find(name);
  if (value == nullptr) return false;
  if (const bool* flag = value->if_bool()) return *flag;
  if (const boost::json::string* text = value->if_string()) {
    if (*text == "true") return true;
    if (*text == "false" || text->empty()) return false;
  }
  return absl::InvalidArgumentError(StrCat("Give ", name, " as true or false."));
}

absl::StatusOr<std::map<std::string, std::string>> Arguments::Texts(std::string_view name) const {
  std::map<std::string, std::string> texts;
  const boost::json::value* value = Find(name);
  if (value == nullptr) return texts;
  const boost::json::object* object = value->if_object();
  if (object == nullptr) {
    return absl::InvalidArgumentError(StrCat("Give ", name, " as an object of names and texts."));
  }
  for (const auto& member : *object) {
    const boost::json::value& text = member.value();
    if (text.is_object() || text.is_array() || text.is_null()) {
      return absl::InvalidArgumentError(StrCat("Give each value of ", name, " as a text."));
    }
    texts[std::string(member.key())] = text.is_string() ? std::string(text.get_string())
                                                        : std::string(boost::json::serialize(text));
  }
  return texts;
}

}  // namespace sandkeep::mcp
