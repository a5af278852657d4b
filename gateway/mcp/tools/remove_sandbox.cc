#include "gateway/mcp/tools/remove_sandbox.h"

#include <utility>

#include "common/status_macros.h"
#include "common/strings.h"
#include "gateway/mcp/tools/file_access.h"
#include "gateway/mcp/tools/profile_words.h"
#include "gateway/mcp/tools/sandbox_argument.h"

namespace sandkeep::mcp {
namespace {

namespace v1 = agent::v1;

constexpr std::string_view kWhat =
    "End a sandbox: its commands and processes end, and what was installed in it is gone. Files "
    "below /workspace are kept unless files is true; then they go too, with every link to them, "
    "and there is no way back. Only for a sandbox that nobody needs any more: one that is left "
    "alone costs nothing.";

std::string EndedWords(int jobs) {
  if (jobs == 0) return "";
  return StrCat(
      " ", jobs,
      jobs == 1 ? " command that ran in it was ended." : " commands that ran in it were ended.");
}

// What went and what is still there.
std::string Outcome(const v1::RemoveSandboxResponse& removed) {
  if (removed.volume_removed()) {
    return StrCat("Removed, with all files below /workspace and every link to them.",
                  EndedWords(removed.jobs_ended()),
                  " The next command with this label makes an empty sandbox.");
  }
  if (!removed.container_removed()) {
    return "There was only /workspace left of it: its files are kept. With files=true they go too.";
  }
  return StrCat("Removed: its processes have ended, and what was installed is gone.",
                EndedWords(removed.jobs_ended()),
                " Files below /workspace are kept: the next command with this label finds them in "
                "a fresh system. With files=true they go too.");
}

}  // namespace

ToolDescription RemoveSandbox::Describe(const v1::Info* /*host*/) const {
  ToolDescription description;
  description.title = "Remove a sandbox";
  description.text = std::string(kWhat);
  description.properties["sandbox"] = Property("string", "Label of the sandbox to remove.");
  description.properties["files"] =
      Property("boolean", "true: the files below /workspace as well. Ask the person first.");
  description.required = {"sandbox"};
  description.destructive = true;
  description.idempotent = true;
  return description;
}

Async<ToolResult> RemoveSandbox::Call(CallContext& context, Arguments arguments) {
  CO_RETURN_IF_ERROR(arguments.AllowOnly({"sandbox", "files"}));
  CO_ASSIGN_OR_RETURN(const bool files, arguments.Flag("files"));
  v1::RemoveSandboxRequest request;
  CO_ASSIGN_OR_RETURN(*request.mutable_sandbox(),
                      co_await RequireSandbox(agent_, context, arguments));
  request.set_remove_volume(files);
  const absl::StatusOr<v1::RemoveSandboxResponse> removed =
      co_await agent_.RemoveSandbox(std::move(request));
  // A call that is made again finds it gone.
  if (absl::IsNotFound(removed.status())) {
    co_return ToolResult::Text(
        StrCat(FactsLine(context, false),
               InProfile(context, "You have no sandbox of this label: nothing was removed.")));
  }
  CO_RETURN_IF_ERROR(removed.status());
  co_return ToolResult::Text(
      StrCat(FactsLine(context, false), InProfile(context, Outcome(*removed))));
}

}  // namespace sandkeep::mcp
