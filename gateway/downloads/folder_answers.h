// What a folder's link is answered with: the folder as an archive or, for a browser in which a
// person goes there, a page of what is in it. Looking costs the link nothing: whatever programs
// fetch it to show a preview, it works as before. Thread-safe.
#pragma once

#include <atomic>
#include <boost/asio/thread_pool.hpp>
#include <string>

#include "agent/client/agent_client.h"
#include "common/async.h"
#include "common/limits.h"
#include "gateway/downloads/linked_folder.h"
#include "gateway/http/exchange.h"

namespace sandkeep {

class FolderAnswers {
 public:
  // Both outlive it.
  FolderAnswers(AgentClient& agent, const LinkSigner& signer) : agent_(agent), signer_(signer) {}

  boost::asio::awaitable<void> Answer(http::Exchange& exchange, LinkedFolder linked);

 private:
  boost::asio::awaitable<void> SendArchive(http::Exchange& exchange, LinkedFolder linked);
  boost::asio::awaitable<void> SendPage(http::Exchange& exchange, LinkedFolder linked);
  Async<std::string> MakePage(std::string public_base, LinkedFolder linked);
  // NotFound: there is no such folder, or it is another volume's.
  Async<void> Check(const LinkedFolder& linked);

  AgentClient& agent_;
  const LinkSigner& signer_;
  std::atomic<int> archives_{0};
  std::atomic<int> pages_{0};
  boost::asio::thread_pool packers_{kArchiveThreads};
};

}  // namespace sandkeep
