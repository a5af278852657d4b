#include "gateway/mcp/tools/wait_upload.h"

#include <algorithm>
#include <utility>

#include "common/limits.h"
#include "common/status_macros.h"
#include "common/strings.h"
#include "gateway/mcp/tools/file_access.h"
#include "gateway/mcp/tools/sandbox_argument.h"
#include "gateway/mcp/tools/words.h"

namespace sandkeep::mcp {
namespace {

constexpr std::string_view kWhat =
    "Wait for the files of an upload that request_upload opened, and say what has arrived.";

std::string StateLine(const UploadView& view) {
  if (view.over) {
    return view.files.empty() ? "Nothing was handed in, and the page is over: ask again if it is "
                                "still wanted."
                              : "The person is done, or the page is over. Arrived:";
  }
  if (view.files.empty() && view.under_way == 0) {
    return "Nothing has arrived yet. The page is still open: wait again, or go on and come back.";
  }
  if (view.under_way > 0) return StrCat(view.under_way, " still under way: wait again. Arrived:");
  return "The page is still open for more. Arrived:";
}

}  // namespace

ToolDescription WaitUpload::Describe(const agent::v1::Info* /*host*/) const {
  ToolDescription description;
  description.title = "Wait for files";
  description.text = std::string(kWhat);
  description.properties["sandbox"] = Property("string", kSandboxDescription);
  description.properties["upload"] = Property("string", "As request_upload named it.");
  description.properties["wait_seconds"] =
      IntegerProperty(0, StrCat("How long to wait; left out, ", kDefaultWait.count(), ", at most ",
                                kMaxWait.count(), "."));
  description.required = {"sandbox", "upload"};
  description.read_only = true;
  description.idempotent = true;
  return description;
}

Async<ToolResult> WaitUpload::Call(CallContext& context, Arguments arguments) {
  CO_RETURN_IF_ERROR(arguments.AllowOnly({"sandbox", "upload", "wait_seconds"}));
  const auto sandbox = co_await RequireSandbox(agent_, context, arguments);
  CO_RETURN_IF_ERROR(sandbox.status());
  CO_ASSIGN_OR_RETURN(const std::optional<std::string> upload, arguments.Text("upload"));
  CO_ASSIGN_OR_RETURN(const std::optional<std::int64_t> wait, arguments.Integer("wait_seconds"));
  const std::chrono::seconds seconds(
      std::clamp<std::int64_t>(wait.value_or(kDefaultWait.count()), 0, kMaxWait.count()));
  const absl::StatusOr<UploadView> view =
      co_await uploads_.Wait(context.principal().text(), context.sandbox, upload.value_or(""),
                             std::chrono::steady_clock::now() + seconds);
  if (absl::IsNotFound(view.status())) {
    co_return absl::NotFoundError(
        "There is no such upload for this sandbox: open one with request_upload.");
  }
  CO_RETURN_IF_ERROR(view.status());
  std::string text = StrCat(FactsLine(context, false), StateLine(*view));
  for (const ArrivedFile& file : view->files) {
    StrAppend(&text, "\n", ShownPath(file.path), ", ", SizeInWords(file.size));
  }
  co_return ToolResult::Text(std::move(text));
}

}  // namespace sandkeep::mcp
