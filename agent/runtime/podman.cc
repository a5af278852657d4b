#include "agent/runtime/podman.h"

#include <utility>

#include "common/gate.h"
#include "common/log.h"
#include "common/status_macros.h"
#include "common/strings.h"

namespace sandkeep {

namespace {

std::vector<std::string> Environment(const PodmanOptions& options) {
  return {
      StrCat("HOME=", options.home),
      StrCat("XDG_RUNTIME_DIR=", options.runtime_dir),
      "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
      "LC_ALL=C.UTF-8",
  };
}

// Podman's records name processes to run among, and none of them is left. It refuses a call with
// the same exit code as a plain "no", and the remedy's name in its prose is all that tells them
// apart.
bool IsLockedOut(const ProcessResult& result) {
  return result.exit_code == 1 && result.standard_output.empty() &&
         result.standard_error.find("system migrate") != std::string::npos;
}

}  // namespace

Podman::Podman(const boost::asio::any_io_executor& executor, const PodmanOptions& options)
    : program_(options.podman),
      global_arguments_(GlobalArguments(options)),
      environment_(Environment(options)),
      gate_(std::make_shared<Gate>(executor, kMaxEngineCalls)),
      beside_(std::make_shared<Gate>(executor, 1)),
      mender_(std::make_shared<Gate>(executor, 1)) {}

Podman::~Podman() = default;

Async<ProcessResult> Podman::Call(Arguments arguments, std::chrono::milliseconds deadline) {
  auto result = co_await CallOnce(gate_, arguments, deadline);
  if (!result.ok() || !IsLockedOut(*result)) co_return result;
  co_return co_await MendAndCall(std::move(arguments), deadline);
}

Async<ProcessResult> Podman::MendAndCall(Arguments arguments, std::chrono::milliseconds deadline) {
  CO_ASSIGN_OR_RETURN(const Gate::Turn turn, co_await Gate::Take(mender_));
  // Another may have mended it meanwhile, and mending stops what has been started since.
  auto result = co_await CallOnce(gate_, arguments, deadline);
  if (!result.ok() || !IsLockedOut(*result)) co_return result;
  // Each run gives up at the first container that it can't stop, and has it out of the way then.
  for (int runs = 0; runs < kEngineMends; ++runs) {
    Log(Severity::kWarning, "engine.mend", {{"why", result->Summary()}});
    Arguments migrate = {"system", "migrate"};
    CO_RETURN_IF_ERROR((co_await CallOnce(gate_, std::move(migrate), deadline)).status());
    result = co_await CallOnce(gate_, arguments, deadline);
    if (!result.ok() || !IsLockedOut(*result)) co_return result;
  }
  co_return EngineFailure("system migrate", *result);
}

Async<ProcessResult> Podman::CallBeside(Arguments arguments, std::chrono::milliseconds deadline) {
  return CallOnce(beside_, std::move(arguments), deadline);
}

Async<ProcessResult> Podman::CallOnce(std::shared_ptr<Gate> gate, Arguments arguments,
                                      std::chrono::milliseconds deadline) {
  const std::string name = arguments.front();
  ProcessCommand command{program_, global_arguments_, environment_};
  std::move(arguments.begin(), arguments.end(), std::back_inserter(command.arguments));
  CO_ASSIGN_OR_RETURN(const Gate::Turn turn, co_await Gate::Take(std::move(gate)));
  auto result = co_await RunProcess(std::move(command), deadline);
  if (absl::IsNotFound(result.status())) {
    co_return absl::FailedPreconditionError(
        StrCat("podman is missing at ", program_, ": install it (apt-get install podman)"));
  }
  CO_RETURN_IF_ERROR(result.status());
  if (!result->succeeded()) {
    Log(result->timed_out ? Severity::kWarning : Severity::kDebug, "engine.call",
        {{"call", name}, {"result", result->Summary()}});
  }
  if (result->timed_out) co_return EngineFailure(name, *result);
  co_return std::move(*result);
}

Async<std::string> Podman::Read(Arguments arguments) {
  const std::string name = arguments.front();
  auto result = co_await Call(arguments);
  if (absl::IsUnavailable(result.status()) || (result.ok() && !result->succeeded())) {
    result = co_await Call(arguments);
  }
  CO_RETURN_IF_ERROR(result.status());
  if (!result->succeeded()) co_return EngineFailure(name, *result);
  if (result->truncated) {
    co_return absl::ResourceExhaustedError(StrCat("podman ", name, " prints too much"));
  }
  co_return std::move(result->standard_output);
}

Async<bool> Podman::Exists(std::string_view kind, std::string name) {
  const std::string call(kind);
  Arguments arguments = {call, "exists", std::move(name)};
  CO_ASSIGN_OR_RETURN(const ProcessResult result, co_await Call(std::move(arguments)));
  // The documented answers; anything else is a failure to find out.
  if (result.exit_code == 0) co_return true;
  if (result.exit_code == 1) co_return false;
  co_return EngineFailure(StrCat(call, " exists"), result);
}

absl::Status EngineFailure(std::string_view call, const ProcessResult& result) {
  return absl::UnavailableError(StrCat("podman ", call, ": ", result.Summary()));
}

}  // namespace sandkeep
