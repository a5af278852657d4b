#include "gateway/mcp/strict_json.h"

#include <array>
#include <boost/json/basic_parser_impl.hpp>
#include <boost/json/parse_options.hpp>
#include <boost/json/serializer.hpp>
#include <boost/json/value_stack.hpp>
#include <cstdint>

#include "common/limits.h"
#include "common/strings.h"

namespace sandkeep::mcp {
namespace {

namespace json = boost::json;
using boost::system::error_code;

// Builds the value as Boost's own handler does, and counts: the values, so that a small text can't
// become a large tree, and the members, since the tree keeps only the last of two of one name.
class Builder {
 public:
  static constexpr std::size_t max_object_size = kMaxJsonValues;
  static constexpr std::size_t max_array_size = kMaxJsonValues;
  static constexpr std::size_t max_key_size = kMaxBodyBytes;
  static constexpr std::size_t max_string_size = kMaxBodyBytes;

  json::value Release() { return stack_.release(); }
  std::size_t members() const { return members_; }
  bool full() const { return values_ >= kMaxJsonValues; }

  bool on_document_begin(error_code&) { return true; }
  bool on_document_end(error_code&) { return true; }
  bool on_object_begin(error_code&) { return true; }
  bool on_object_end(std::size_t n, error_code& ec) {
    members_ += n;
    stack_.push_object(n);
    return Count(ec);
  }
  bool on_array_begin(error_code&) { return true; }
  bool on_array_end(std::size_t n, error_code& ec) {
    stack_.push_array(n);
    return Count(ec);
  }
  bool on_key_part(json::string_view s, std::size_t, error_code&) {
    stack_.push_chars(s);
    return true;
  }
  bool on_key(json::string_view s, std::size_t, error_code&) {
    stack_.push_key(s);
    return true;
  }
  bool on_string_part(json::string_view s, std::size_t, error_code&) {
    stack_.push_chars(s);
    return true;
  }
  bool on_string(json::string_view s, std::size_t, error_code& ec) {
    stack_.push_string(s);
    return Count(ec);
  }
  bool on_number_part(json::string_view, error_code&) { return true; }
  bool on_int64(std::int64_t i, json::string_view, error_code& ec) {
    stack_.push_int64(i);
    return Count(ec);
  }
  bool on_uint64(std::uint64_t u, json::string_view, error_code& ec) {
    stack_.push_uint64(u);
    return Count(ec);
  }
  bool on_double(double d, json::string_view, error_code& ec) {
    stack_.push_double(d);
    return Count(ec);
  }
  bool on_bool(bool b, error_code& ec) {
    stack_.push_bool(b);
    return Count(ec);
  }
  bool on_null(error_code& ec) {
    stack_.push_null();
    return Count(ec);
  }
  bool on_comment_part(json::string_view, error_code&) { return true; }
  bool on_comment(json::string_view, error_code&) { return true; }

 private:
  bool Count(error_code& ec) {
    if (++values_ < kMaxJsonValues) return true;
    ec = json::make_error_code(json::error::array_too_large);
    return false;
  }

  json::value_stack stack_;
  std::size_t values_ = 0;
  std::size_t members_ = 0;
};

// As deep as the parser let it become.
std::size_t CountMembers(const json::value& value) {
  std::size_t count = 0;
  if (const json::object* object = value.if_object()) {
    count += object->size();
    for (const auto& member : *object) count += CountMembers(member.value());
  } else if (const json::array* array = value.if_array()) {
    for (const json::value& element : *array) count += CountMembers(element);
  }
  return count;
}

absl::Status Malformed(const error_code& ec, std::size_t at, bool full) {
  if (full) return absl::InvalidArgumentError(StrCat("more than ", kMaxJsonValues, " values"));
  if (ec == json::error::too_deep) {
    return absl::InvalidArgumentError(StrCat("nested deeper than ", kMaxJsonDepth));
  }
  return absl::InvalidArgumentError(StrCat(ec.message(), " at byte ", at));
}

}  // namespace

absl::StatusOr<json::value> ParseStrictJson(std::string_view text) {
  if (text.size() > kMaxBodyBytes) {
    return absl::InvalidArgumentError(StrCat("longer than ", kMaxBodyBytes, " bytes"));
  }
  json::parse_options options;
  options.max_depth = kMaxJsonDepth;
  json::basic_parser<Builder> parser(options);
  error_code ec;
  const std::size_t read = parser.write_some(false, text.data(), text.size(), ec);
  if (!ec && read < text.size()) ec = json::make_error_code(json::error::extra_data);
  if (ec) return Malformed(ec, read, parser.handler().full());
  const std::size_t members = parser.handler().members();
  json::value value = parser.handler().Release();
  if (CountMembers(value) != members) {
    return absl::InvalidArgumentError("an object names one key twice");
  }
  return value;
}

void AppendJsonString(std::string* out, std::string_view text) {
  json::serializer serializer;
  const json::string_view view(text.data(), text.size());
  serializer.reset(view);
  std::array<char, 4096> buffer;
  while (!serializer.done()) {
    const json::string_view part = serializer.read(buffer.data(), buffer.size());
    out->append(part.data(), part.size());
  }
}

}  // namespace sandkeep::mcp
