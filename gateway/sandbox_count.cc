#include "gateway/sandbox_count.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <exception>
#include <memory>
#include <utility>

#include "agent/client/agent_client.h"
#include "common/status_macros.h"

namespace sandkeep {
namespace {

namespace asio = boost::asio;

Async<agent::v1::ListSandboxesResponse> List(AgentClient& agent, std::string principal) {
  agent::v1::ListSandboxesRequest request;
  request.set_principal(std::move(principal));
  request.set_limit(1);
  co_return co_await agent.ListSandboxes(std::move(request));
}

}  // namespace

absl::StatusOr<int> CountSandboxes(const std::string& agent_socket, const std::string& principal) {
  ASSIGN_OR_RETURN(const std::unique_ptr<AgentClient> agent, ConnectToAgent(agent_socket));
  asio::io_context io(1);
  absl::StatusOr<agent::v1::ListSandboxesResponse> answer = absl::UnknownError("no answer");
  auto finished = [&answer](std::exception_ptr error,
                            absl::StatusOr<agent::v1::ListSandboxesResponse> response) {
    if (!error) answer = std::move(response);
  };
  asio::co_spawn(io, List(*agent, principal), std::move(finished));
  io.run();
  RETURN_IF_ERROR(answer.status());
  return answer->total();
}

}  // namespace sandkeep
