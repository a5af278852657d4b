// The arguments of a tool call, read strictly where it matters and leniently where models err: a
// null counts as absent, a number or a truth value may come as text. Every error says what to give
// instead. Plain value; any thread.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace sandkeep::mcp {

class Arguments {
 public:
  explicit Arguments(boost::json::object values) : values_(std::move(values)) {}

  // All of them, for another tool.
  boost::json::object Take() { return std::move(values_); }

  // InvalidArgument if there is any other: what a model asked for in an argument that doesn't
  // exist would silently not happen. What clients add on their own account, and explanations, are
  // let pass.
  absl::Status AllowOnly(std::initializer_list<std::string_view> names) const;

  // nullopt: absent.
  absl::StatusOr<std::optional<std::string>> Text(std::string_view name) const;
  absl::StatusOr<std::optional<std::int64_t>> Integer(std::string_view name) const;
  // false: absent.
  absl::StatusOr<bool> Flag(std::string_view name) const;
  // An object of texts; numbers and truth values in it count as theirs. Empty: absent.
  absl::StatusOr<std::map<std::string, std::string>> Texts(std::string_view name) const;

 private:
  // nullptr: absent or null.
  const boost::json::value* Find(std::string_view name) const;

  boost::json::object values_;
};

}  // namespace sandkeep::mcp
