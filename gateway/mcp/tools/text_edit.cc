#include "gateway/mcp/tools/text_edit.h"

#include <string.h>

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_replace.h"
#include "common/limits.h"
#include "common/strings.h"

namespace sandkeep::mcp {
namespace {

// What a message names.
constexpr std::size_t kShownLines = 5;

std::int64_t LineAt(std::string_view text, std::size_t at) {
  return 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n');
}

// Both come from a model or a sandbox, and std's find takes the product of their sizes for some:
// the C library's steps are bounded by the text's.
std::size_t Find(std::string_view text, std::string_view part, std::size_t from = 0) {
  const std::string_view rest = text.substr(from);
  if (rest.size() < part.size()) return std::string_view::npos;
  const void* const at = ::memmem(rest.data(), rest.size(), part.data(), part.size());
  if (at == nullptr) return std::string_view::npos;
  return static_cast<std::size_t>(static_cast<const char*>(at) - text.data());
}

// Without what nobody sees, and where each byte that is left stood.
struct Squeezed {
  std::string text;
  std::vector<std::size_t> from;
};

Squeezed Squeeze(std::string_view text) {
  Squeezed squeezed;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (absl::ascii_isspace(static_cast<unsigned char>(text[i]))) continue;
    squeezed.text += text[i];
    squeezed.from.push_back(i);
  }
  return squeezed;
}

std::string_view Trimmed(std::string_view line) {
  return ToStd(absl::StripAsciiWhitespace(ToAbsl(line)));
}

// The first line of `old_text` that says anything.
std::string_view FirstLine(std::string_view old_text) {
  for (const std::string_view line : Split(old_text, '\n')) {
    if (!Trimmed(line).empty()) return Trimmed(line);
  }
  return {};
}

std::string Lines(const std::vector<std::int64_t>& lines) {
  std::string text;
  for (std::size_t i = 0; i < std::min(lines.size(), kShownLines); ++i) {
    StrAppend(&text, i == 0 ? "" : ", ", lines[i]);
  }
  return lines.size() > kShownLines ? StrCat(text, " …") : text;
}

absl::Status NotThere(std::string_view text, std::string_view old_text) {
  constexpr std::string_view kNot = "old_text isn't in the file as given: ";
  const std::string without_cr = absl::StrReplaceAll(ToAbsl(old_text), {{"\r\n", "\n"}});
  if (Find(text, without_cr) != std::string_view::npos) {
    return absl::InvalidArgumentError(
        StrCat(kNot, "the file's lines end with \\n alone, not with \\r\\n."));
  }
  const std::string with_cr = absl::StrReplaceAll(without_cr, {{"\n", "\r\n"}});
  if (Find(text, with_cr) != std::string_view::npos) {
    return absl::InvalidArgumentError(
        StrCat(kNot, "the file's lines end with \\r\\n, so give old_text and new_text with it."));
  }
  const Squeezed file = Squeeze(text);
  const std::string wanted = Squeeze(old_text).text;
  const std::size_t at = wanted.empty() ? std::string::npos : Find(file.text, wanted);
  if (at != std::string::npos) {
    return absl::InvalidArgumentError(
        StrCat(kNot, "at line ", LineAt(text, file.from[at]),
               " it stands with other blanks or line breaks. Read those lines and copy them."));
  }
  const std::string_view first = FirstLine(old_text);
  const std::size_t near = first.empty() ? std::string_view::npos : Find(text, first);
  if (near != std::string_view::npos) {
    return absl::InvalidArgumentError(StrCat(kNot, "its first line stands at line ",
                                             LineAt(text, near),
                                             ", but goes on differently. Read the file there."));
  }
  return absl::InvalidArgumentError(StrCat(kNot, "not even its first line is. Read the file."));
}

}  // namespace

absl::StatusOr<EditedText> EditText(std::string_view text, std::string_view old_text,
                                    std::string_view new_text, bool replace_all) {
  if (old_text.empty()) {
    return absl::InvalidArgumentError(
        "old_text is empty: give the text to replace, or use write_file for a whole file.");
  }
  if (old_text == new_text) {
    return absl::InvalidArgumentError("old_text and new_text are the same: nothing to do.");
  }
  EditedText edited;
  std::size_t copied = 0;
  std::int64_t line = 1;
  for (std::size_t at = Find(text, old_text); at != std::string_view::npos;
       at = Find(text, old_text, copied)) {
    line += std::count(text.begin() + static_cast<std::ptrdiff_t>(copied),
                       text.begin() + static_cast<std::ptrdiff_t>(at), '\n');
    edited.lines.push_back(line);
    line += std::count(old_text.begin(), old_text.end(), '\n');
    StrAppend(&edited.text, text.substr(copied, at - copied), new_text);
    copied = at + old_text.size();
    if (edited.text.size() > static_cast<std::size_t>(kMaxEditedBytes)) break;
  }
  if (edited.lines.empty()) return NotThere(text, old_text);
  if (edited.lines.size() > 1 && !replace_all) {
    return absl::InvalidArgumentError(
        StrCat("old_text is in the file more than once, at lines ", Lines(edited.lines),
               ": give more of what stands around the one, or set replace_all."));
  }
  StrAppend(&edited.text, text.substr(copied));
  if (edited.text.size() > static_cast<std::size_t>(kMaxEditedBytes)) {
    return absl::InvalidArgumentError(
        StrCat("The file would have more than ", kMaxEditedBytes, " bytes: use run_command."));
  }
  return edited;
}

}  // namespace sandkeep::mcp
