// GET and HEAD /dl/…: a file of a sandbox, or what a job printed, for whoever has its link.
//
// The agent is asked for the volume's generation and principal, then the signature is judged, and
// only then is the agent asked for the file. Every wrong link gets the same 404, whatever is wrong
// with it; so do those of a principal that was removed. The file is pulled from the agent as fast
// as the client takes it; a file that shrinks under the read cuts the connection, so that nobody
// takes a part for the whole. A download that began in the link's time may be resumed for
// kResumeGrace after it, by the ETag that only this link gave out.
#pragma once

#include <atomic>
#include <boost/asio/thread_pool.hpp>
#include <optional>
#include <string>

#include "agent/client/agent_client.h"
#include "common/limits.h"
#include "gateway/downloads/byte_range.h"
#include "gateway/downloads/link.h"
#include "gateway/downloads/mime_types.h"
#include "gateway/downloads/validators.h"
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
  // What a link is good for: a file or, if `job` is set, that job's output, or `folder`'s archive.
  struct Target {
    LinkClaim claim;
    std::optional<JobId> job;
    std::optional<ArchivedFolder> folder;
    bool expired = false;  // Good for nothing but the rest of a file.
  };

  // An error says which page to show instead.
  Async<Target> Verify(std::string path);
  Async<Target> Judge(LinkClaim claim);

  boost::asio::awaitable<void> Answer(http::Exchange& exchange, Target target);
  boost::asio::awaitable<void> SendFile(http::Exchange& exchange, const agent::v1::FileInfo& info,
                                        const LinkClaim& claim, ByteRange range);
  Validators ValidatorsOf(const LinkClaim& claim, const agent::v1::FileInfo& info) const;
  boost::asio::awaitable<void> SendFolder(http::Exchange& exchange, LinkClaim claim,
                                          ArchivedFolder folder);
  boost::asio::awaitable<void> SendOutput(http::Exchange& exchange, SandboxKey key, JobId job);

  AgentClient& agent_;
  const LinkSigner& signer_;
  const MimeTypes& types_;
  const AccessKeys& keys_;
  std::atomic<int> running_{0};
  std::atomic<int> archives_{0};
  boost::asio::thread_pool packers_{kArchiveThreads};
};

}  // namespace sandkeep
