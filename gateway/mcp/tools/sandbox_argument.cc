#include "gateway/mcp/tools/sandbox_argument.h"

#include <optional>
#include <utility>

#include "common/label.h"
#include "common/limits.h"
#include "common/status_macros.h"
#include "common/strings.h"

namespace sandkeep::mcp {
namespace {

namespace v1 = agent::v1;

constexpr std::string_view kHowToMint =
    "make up a label for this conversation from two random words and three random digits, joined "
    "by hyphens, and pass it as sandbox in every call";

// The caller's own, most recently used first; empty if there are none or nobody answers.
boost::asio::awaitable<std::string> OwnLabels(AgentClient& agent, PrincipalId principal) {
  v1::ListSandboxesRequest request;
  request.set_principal(principal.text());
  request.set_limit(kMaxSuggestedLabels);
  auto answer = co_await agent.ListSandboxes(std::move(request));
  std::string labels;
  if (!answer.ok()) co_return labels;
  for (const v1::Sandbox& sandbox : answer->sandboxes()) {
    StrAppend(&labels, labels.empty() ? "" : ", ", sandbox.label());
  }
  co_return labels;
}

Async<v1::SandboxRef> Refuse(AgentClient& agent, PrincipalId principal, std::string problem) {
  const std::string labels = co_await OwnLabels(agent, std::move(principal));
  std::string message = StrCat(problem, ": ", kHowToMint, ".");
  if (!labels.empty()) {
    StrAppend(&message, " To go on in an earlier sandbox, pass its label. Last used: ", labels,
              ".");
  }
  co_return absl::InvalidArgumentError(message);
}

}  // namespace

Async<v1::SandboxRef> RequireSandbox(AgentClient& agent, CallContext& context,
                                     const Arguments& arguments) {
  CO_ASSIGN_OR_RETURN(const std::optional<std::string> text, arguments.Text("sandbox"));
  if (!text || text->empty()) {
    std::string problem = "The sandbox label is missing";
    co_return co_await Refuse(agent, context.principal(), std::move(problem));
  }
  const absl::StatusOr<Label> label = Label::Parse(*text);
  if (!label.ok()) {
    std::string problem =
        StrCat("This is no sandbox label (", ToStd(label.status().message()), ")");
    co_return co_await Refuse(agent, context.principal(), std::move(problem));
  }
  context.sandbox = label->text();
  v1::SandboxRef sandbox;
  sandbox.set_principal(context.principal().text());
  sandbox.set_label(*text);
  co_return sandbox;
}

Async<std::optional<v1::SandboxRef>> OptionalSandbox(AgentClient& agent, CallContext& context,
                                                     const Arguments& arguments) {
  const absl::StatusOr<std::optional<std::string>> text = arguments.Text("sandbox");
  if (text.ok() && (!text->has_value() || (*text)->empty())) co_return std::nullopt;
  CO_ASSIGN_OR_RETURN(v1::SandboxRef sandbox, co_await RequireSandbox(agent, context, arguments));
  co_return std::optional<v1::SandboxRef>(std::move(sandbox));
}

}  // namespace sandkeep::mcp
