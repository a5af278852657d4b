// POST /mcp: one JSON-RPC message in, its answer out, over HTTP as both eras of MCP have it.
//
// A call that is done soon is answered as JSON. One that takes longer, or has something to say
// before it is done, becomes an event stream where the client takes one, with a comment every
// keep-alive interval so that no proxy cuts it; where it doesn't, it waits. A client that closes
// its connection cancels the call: what that means is the endpoint's to decide, and its answer is
// dropped.
#pragma once

#include "gateway/http/exchange.h"
#include "gateway/http/timing.h"
#include "gateway/mcp/endpoint.h"

namespace sandkeep::http {

class McpTransport : public Handler {
 public:
  // All outlive it.
  McpTransport(mcp::Endpoint& endpoint, const Timing& timing)
      : endpoint_(endpoint), timing_(timing) {}

  boost::asio::awaitable<void> Handle(Exchange& exchange) override;

 private:
  mcp::Endpoint& endpoint_;
  const Timing& timing_;
};

}  // namespace sandkeep::http
