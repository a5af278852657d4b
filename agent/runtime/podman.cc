#include "agent/runtime/podman.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/experimental/concurrent_channel.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "common/log.h"
#include "common/status_macros.h"
#include "common/strings.h"

namespace sandkeep {

namespace asio = boost::asio;

// As many tokens as calls may run; a call holds one.
class Podman::Gate {
 public:
  explicit Gate(const asio::any_io_executor& executor) : tokens_(executor, kMaxEngineCalls) {
    for (int i = 0; i < kMaxEngineCalls; ++i) Give();
  }

  // False: the caller left before there was one.
  asio::awaitable<bool> Take() {
    const auto [error] = co_await tokens_.async_receive(asio::as_tuple(asio::use_awaitable));
    co_return !error;
  }
  void Give() { tokens_.try_send(boost::system::error_code()); }

 private:
  asio::experimental::concurrent_channel<void(boost::system::error_code)> tokens_;
};

namespace {

std::vector<std::string> Environment(const PodmanOptions& options) {
  return {
      StrCat("HOME=", options.home),
      StrCat("XDG_RUNTIME_DIR=", options.runtime_dir),
      "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
      "LC_ALL=C.UTF-8",
  };
}

}  // namespace

Podman::Podman(const asio::any_io_executor& executor, const PodmanOptions& options)
    : program_(options.podman),
      global_arguments_(GlobalArguments(options)),
      environment_(Environment(options)),
      gate_(std::make_shared<Gate>(executor)) {}

Podman::~Podman() = default;

Async<ProcessResult> Podman::Call(Arguments arguments, std::chrono::milliseconds deadline) {
  // Gives the token back however this ends, also when the frame is destroyed with its executor.
  struct Turn {
    std::shared_ptr<Gate> gate;
    ~Turn() { gate->Give(); }
  };
  const std::string name = arguments.front();
  ProcessCommand command{program_, global_arguments_, environment_};
  std::move(arguments.begin(), arguments.end(), std::back_inserter(command.arguments));
  const std::shared_ptr<Gate> gate = gate_;
  const bool taken = co_await gate->Take();
  if (!taken) co_return absl::CancelledError("the caller left");
  const Turn turn{gate};
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
