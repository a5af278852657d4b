// Parameters of a request: a query, or a body of application/x-www-form-urlencoded. Plain values;
// any thread.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace sandkeep::oauth {

class Form {
 public:
  // InvalidArgument: more than kMaxFormFields, a wrong `%`, text that isn't UTF-8 or has a NUL, or
  // a parameter that stands twice, which RFC 6749 forbids. Only `resource` may.
  static absl::StatusOr<Form> Parse(std::string_view text);

  // Empty: absent, or sent without a value, which RFC 6749 has mean the same.
  const std::string& Get(std::string_view name) const;
  std::vector<std::string> All(std::string_view name) const;

 private:
  std::vector<std::pair<std::string, std::string>> fields_;
};

}  // namespace sandkeep::oauth
