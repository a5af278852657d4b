// GET and HEAD /dl/…: a file of a sandbox, for whoever has its link.
//
// The agent is asked for the volume's generation and principal, then the signature is judged, and
// only then is the agent asked for the file. Every wrong link gets the same 404, whatever is wrong
// with it; so do those of a principal that was removed. The
// file is pulled from the agent as fast as the client takes it; a file that shrinks under the read
// cuts the connection, so that nobody takes a part for the whole.
#pragma once

#include <atomic>
#include <string>

#include "agent/client/agent_client.h"
#include "gateway/downloads/byte_range.h"
#include "gateway/downloads/link.h"
#include "gateway/downloads/mime_types.h"
#include "gateway/http/exchange.h"
#include "gateway/keys/access_keys.h"

namespace sandkeep {

class DownloadHandler : public http::Handler {
 public:
  // All outlive it.
  DownloadHandler(AgentClient& agent, const LinkSigner& signer, const MimeTypes& types,
                  const AccessKeys& keys)
      : agent_(agent), signer_(signer), types_(types), keys_(keys) {}

  boost::asio::awaitable<void> Handle(http::Exchange& exchange) override;

 private:
  // The file that the link is good for; an error says which page to show instead.
  Async<LinkClaim> Verify(std::string path);
  Async<LinkClaim> Judge(LinkClaim claim);

  boost::asio::awaitable<void> Answer(http::Exchange& exchange, LinkClaim claim);
  boost::asio::awaitable<void> SendFile(http::Exchange& exchange, const agent::v1::FileInfo& info,
                                        const LinkClaim& claim, ByteRange range);

  AgentClient& agent_;
  const LinkSigner& signer_;
  const MimeTypes& types_;
  const AccessKeys& keys_;
  std::atomic<int> running_{0};
};

}  // namespace sandkeep
