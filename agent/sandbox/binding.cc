#include "agent/sandbox/binding.h"

#include <vector>

#include "absl/strings/numbers.h"
#include "common/digest.h"
#include "common/limits.h"
#include "common/status_macros.h"
#include "common/strings.h"

namespace sandkeep {
namespace {

constexpr std::string_view kHead = "sandkeep-binding 1";
// The head, five fields, and nothing after the last newline.
constexpr std::size_t kLines = 7;

absl::Status Malformed(std::string_view what) {
  return absl::InvalidArgumentError(StrCat("not a binding: ", what));
}

absl::StatusOr<std::string_view> Field(std::string_view line, std::string_view name) {
  const bool named = line.size() > name.size() + 1 && line.substr(0, name.size()) == name &&
                     line[name.size()] == ' ';
  if (!named) return Malformed(name);
  return line.substr(name.size() + 1);
}

absl::StatusOr<absl::Time> ParseCreated(std::string_view text) {
  std::int64_t ms = 0;
  // The digits must be the number's own form: no sign, no zeros in front, no space.
  if (!absl::SimpleAtoi(ToAbsl(text), &ms) || ms < 0 || StrCat(ms) != text) {
    return Malformed("created");
  }
  return absl::FromUnixMillis(ms);
}

}  // namespace

SandboxKey MakeSandboxKey(const Secret& secret, const PrincipalId& principal, const Label& label) {
  std::string message = principal.text();
  message.push_back('\0');  // In neither of the two.
  message += label.text();
  return SandboxKey::Make(label.Slug(), HmacSha256(secret.Reveal(), message));
}

std::string FormatBinding(const Binding& binding) {
  return StrCat(kHead, "\nkey ", binding.key.text(), "\nprincipal ", binding.principal.text(),
                "\nlabel ", binding.label.text(), "\ngeneration ", binding.generation.hex(),
                "\ncreated ", absl::ToUnixMillis(binding.created), "\n");
}

absl::StatusOr<Binding> ParseBinding(std::string_view text) {
  if (text.size() > kMaxBindingBytes) return Malformed("too long");
  const std::vector<std::string_view> lines = Split(text, '\n');
  if (lines.size() != kLines || lines.front() != kHead || !lines.back().empty()) {
    return Malformed("form or version");
  }
  ASSIGN_OR_RETURN(const std::string_view key_text, Field(lines[1], "key"));
  ASSIGN_OR_RETURN(const std::string_view principal_text, Field(lines[2], "principal"));
  ASSIGN_OR_RETURN(const std::string_view label_text, Field(lines[3], "label"));
  ASSIGN_OR_RETURN(const std::string_view generation_text, Field(lines[4], "generation"));
  ASSIGN_OR_RETURN(const std::string_view created_text, Field(lines[5], "created"));
  ASSIGN_OR_RETURN(SandboxKey key, SandboxKey::Parse(key_text));
  ASSIGN_OR_RETURN(PrincipalId principal, PrincipalId::Parse(principal_text));
  ASSIGN_OR_RETURN(Label label, Label::Parse(label_text));
  if (label.text() != label_text) return Malformed("label isn't normalised");
  ASSIGN_OR_RETURN(Generation generation, Generation::FromHex(generation_text));
  ASSIGN_OR_RETURN(const absl::Time created, ParseCreated(created_text));
  return Binding{std::move(key), std::move(principal), std::move(label), std::move(generation),
                 created};
}

}  // namespace sandkeep
