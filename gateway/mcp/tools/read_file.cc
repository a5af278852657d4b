#include "gateway/mcp/tools/read_file.h"

#include <algorithm>
#include <utility>

#include "absl/strings/escaping.h"
#include "common/limits.h"
#include "common/status_macros.h"
#include "common/strings.h"
#include "common/utf8.h"
#include "gateway/mcp/tools/file_access.h"
#include "gateway/mcp/tools/profile_words.h"
#include "gateway/mcp/tools/sandbox_argument.h"
#include "gateway/mcp/tools/words.h"

namespace sandkeep::mcp {
namespace {

namespace v1 = agent::v1;

constexpr std::string_view kWhat =
    "Read a text file below /workspace, whole or some of its lines. What follows the first line "
    "of facts is the file's text exactly, with the line ends that it has. Pictures and other files "
    "that are no text: present_file.";

constexpr std::size_t kShownBytes = 16;
constexpr std::size_t kReplacementBytes = 3;  // U+FFFD in UTF-8.
constexpr std::size_t kLongestCharacter = 4;

// As commands' output: NUL, or more than a tenth of invalid bytes.
bool IsBinary(std::string_view bytes, const std::string& valid) {
  if (bytes.find('\0') != std::string_view::npos) return true;
  const std::size_t grown = valid.size() - std::min(valid.size(), bytes.size());
  return grown / (kReplacementBytes - 1) * 10 > bytes.size();
}

std::string BinaryLine(const v1::FileInfo& info, std::string_view bytes) {
  std::string line =
      StrCat(ShownPath(info.path()), " is binary, ", SizeInWords(info.size()), ", beginning with");
  for (const char c : bytes.substr(0, kShownBytes)) {
    StrAppend(&line, " ", absl::BytesToHexString(std::string(1, c)));
  }
  return line;
}

absl::Status NoSuchLine(std::int64_t line, std::int64_t lines, bool whole) {
  if (whole) {
    return absl::OutOfRangeError(
        StrCat("The file has ", lines, " lines: give an offset up to that."));
  }
  return absl::OutOfRangeError(StrCat("Line ", line, " is more than ",
                                      SizeInWords(kMaxScannedBytes),
                                      " into the file: use run_command, as with sed -n."));
}

std::string_view Damage(const LineWindow& window) {
  const std::string_view text = window.text();
  const std::size_t valid = ValidUtf8Prefix(text);
  // Half a character at a cut isn't the file's fault.
  if (valid == text.size() || (window.cut() && text.size() - valid < kLongestCharacter)) return "";
  return "\nnote: bytes that are no UTF-8 are shown as U+FFFD";
}

// `whole`: to the file's end.
std::string Facts(const v1::FileInfo& info, const LineWindow& window, std::int64_t first,
                  bool whole) {
  const std::int64_t last = window.cut() ? window.next_line() : window.lines_seen();
  std::string facts = StrCat(ShownPath(info.path()), ", ", SizeInWords(info.size()), ", ");
  if (first == 1 && whole) {
    StrAppend(&facts, last, last == 1 ? " line" : " lines");
  } else {
    StrAppend(&facts, "lines ", first, " to ", last);
    if (whole) StrAppend(&facts, ", the last");
  }
  if (window.cut()) {
    StrAppend(&facts, "\nnote: line ", last,
              " goes on, and this is all that one result can show: "
              "use run_command for the rest of it");
  } else if (!whole) {
    StrAppend(&facts, "\nnote: there is more: read on with offset ", window.next_line());
  }
  if (whole && !window.text().empty() && window.text().back() != '\n') {
    StrAppend(&facts, "\nnote: no line feed at the end");
  }
  return facts;
}

}  // namespace

ToolDescription ReadFile::Describe(const v1::Info* /*host*/) const {
  ToolDescription description;
  description.title = "Read a file";
  description.text = std::string(kWhat);
  description.properties["sandbox"] = Property("string", kSandboxDescription);
  description.properties["path"] = Property("string", kPathDescription);
  description.properties["offset"] =
      IntegerProperty(1, "The first line to show, counted from 1; left out, the first.");
  description.properties["limit"] =
      IntegerProperty(1, StrCat("How many lines; left out, ", kDefaultReadLines, "."));
  description.required = {"sandbox", "path"};
  description.read_only = true;
  description.idempotent = true;
  description.result_chars = ResultChars(settings_);
  return description;
}

Async<ToolResult> ReadFile::Call(CallContext& context, Arguments arguments) {
  CO_RETURN_IF_ERROR(arguments.AllowOnly({"sandbox", "path", "offset", "limit"}));
  CO_ASSIGN_OR_RETURN(const FileArgument target,
                      co_await RequireFile(agent_, context, arguments, PathKind::kFile));
  CO_ASSIGN_OR_RETURN(const std::optional<std::int64_t> offset, arguments.Integer("offset"));
  CO_ASSIGN_OR_RETURN(const std::optional<std::int64_t> limit, arguments.Integer("limit"));
  constexpr std::int64_t kMost = 1LL << 40;
  const std::int64_t first = std::clamp<std::int64_t>(offset.value_or(1), 1, kMost);
  const std::int64_t count = std::clamp<std::int64_t>(limit.value_or(kDefaultReadLines), 1, kMost);
  CO_ASSIGN_OR_RETURN(const v1::FileInfo info,
                      co_await FindFile(agent_, target.sandbox, target.path));
  if (info.type() == v1::FileInfo::DIRECTORY) {
    co_return absl::InvalidArgumentError("This is a folder: list it with list_files.");
  }
  if (info.size() == 0) {
    co_return ToolResult::Text(
        StrCat(FactsLine(context, false), ShownPath(info.path()), " is empty."));
  }
  LineWindow window(first, count, settings_.max_output_bytes);
  CO_ASSIGN_OR_RETURN(const std::int64_t seen, co_await Fill(window, target.sandbox, info));
  const bool whole = seen >= info.size() && !window.passed_over() && !window.cut();
  if (window.text().empty()) co_return NoSuchLine(first, window.lines_seen(), whole);
  const std::string valid = ToValidUtf8(window.text());
  if (IsBinary(window.text(), valid)) {
    co_return ToolResult::Text(
        StrCat(FactsLine(context, false), BinaryLine(info, window.text()),
               InProfile(context, ": hand it to the person by present_file.")));
  }
  ToolResult result = ToolResult::Text(
      StrCat(FactsLine(context, false), Facts(info, window, first, whole), Damage(window)));
  result.content.emplace_back(TextBlock{valid});
  co_return result;
}

Async<std::int64_t> ReadFile::Fill(LineWindow& window, v1::SandboxRef sandbox, v1::FileInfo info) {
  v1::ReadFileRequest request;
  *request.mutable_sandbox() = std::move(sandbox);
  request.set_path(info.path());
  request.set_length(std::min(info.size(), kMaxScannedBytes));
  request.set_if_etag(info.etag());
  const FileChunkStream stream = agent_.ReadFile(std::move(request));
  std::int64_t seen = 0;
  while (!window.full()) {
    auto chunk = co_await stream->Next();
    if (absl::IsDataLoss(chunk.status()) || absl::IsAborted(chunk.status())) {
      co_return absl::AbortedError("The file changed while it was read: try again.");
    }
    if (!chunk.ok()) co_return chunk.status();
    if (!chunk->has_value()) break;
    const std::string_view data = (*chunk)->data();
    window.Add(data);
    seen += static_cast<std::int64_t>(data.size());
  }
  co_return seen;
}

}  // namespace sandkeep::mcp
