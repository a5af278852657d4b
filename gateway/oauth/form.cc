#include "gateway/oauth/form.h"

#include <boost/url/encoding_opts.hpp>
#include <boost/url/pct_string_view.hpp>

#include "common/limits.h"
#include "common/status_macros.h"
#include "common/strings.h"
#include "common/utf8.h"

namespace sandkeep::oauth {
namespace {

namespace urls = boost::urls;

absl::StatusOr<std::string> Decode(std::string_view text) {
  const auto encoded =
      urls::make_pct_string_view(boost::core::string_view(text.data(), text.size()));
  if (!encoded) return absl::InvalidArgumentError("a percent sign without two hex digits");
  urls::encoding_opts options;
  options.space_as_plus = true;
  std::string decoded = encoded->decode(options);
  if (!IsUtf8(decoded) || decoded.find('\0') != std::string::npos) {
    return absl::InvalidArgumentError("a parameter that isn't text");
  }
  return decoded;
}

}  // namespace

absl::StatusOr<Form> Form::Parse(std::string_view text) {
  Form form;
  for (const std::string_view pair : Split(text, '&')) {
    if (pair.empty()) continue;
    if (form.fields_.size() == kMaxFormFields) {
      return absl::InvalidArgumentError("too many parameters");
    }
    const std::size_t equals = pair.find('=');
    ASSIGN_OR_RETURN(std::string name, Decode(pair.substr(0, equals)));
    ASSIGN_OR_RETURN(
        std::string value,
        Decode(equals == std::string_view::npos ? std::string_view() : pair.substr(equals + 1)));
    if (value.empty()) continue;
    if (name != "resource" && !form.Get(name).empty()) {
      return absl::InvalidArgumentError("a parameter stands twice");
    }
    form.fields_.emplace_back(std::move(name), std::move(value));
  }
  return form;
}

const std::string& Form::Get(std::string_view name) const {
  static const std::string none;
  for (const auto& [key, value] : fields_) {
    if (key == name) return value;
  }
  return none;
}

std::vector<std::string> Form::All(std::string_view name) const {
  std::vector<std::string> values;
  for (const auto& [key, value] : fields_) {
    if (key == name) values.push_back(value);
  }
  return values;
}

}  // namespace sandkeep::oauth
