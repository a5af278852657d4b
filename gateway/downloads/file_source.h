// A file of a sandbox on its way to a client. There are two ways: as a descriptor that the agent
// handed over, from which the kernel sends it (described_file.h), or streamed through the agent's
// API (streamed_file.h). Which one it is makes no difference to who asks; FileSources decides.
//
// By descriptor wherever it can be: a plain connection, and a door that is open. Then nothing of a
// file passes through our memory but a little one, and the agent has no part in it any more.
#pragma once

#include <atomic>
#include <boost/asio/thread_pool.hpp>
#include <cstdint>
#include <memory>
#include <string>

#include "agent/client/agent_client.h"
#include "agent/client/descriptor_door.h"
#include "common/async.h"
#include "common/limits.h"
#include "gateway/http/exchange.h"

namespace sandkeep {

class FileSource {
 public:
  virtual ~FileSource() = default;

  virtual const agent::v1::FileInfo& info() const = 0;

  // Answers with `head` and `length` bytes from `offset`. An error: nothing was sent yet. OK: the
  // client has it, or is gone, or the file shrank and the connection is to be cut.
  virtual Async<void> Send(http::Exchange& exchange, http::Response head, std::int64_t offset,
                           std::int64_t length) = 0;
};

struct WantedFile {
  std::string key;
  std::string path;
};

// Owned by the downloads; outlives its sources. Any thread.
class FileSources {
 public:
  // Both outlive it. `door` null: everything is streamed.
  FileSources(AgentClient& agent, DescriptorDoor* door) : agent_(agent), door_(door) {}
  ~FileSources() { threads_.join(); }

  Async<agent::v1::FileInfo> Stat(WantedFile wanted);
  // To be sent to `exchange`. Aborted: it changes all the time.
  Async<std::unique_ptr<FileSource>> Open(const http::Exchange& exchange, WantedFile wanted);

 private:
  enum class Way { kUnknown, kDescriptor, kStream };

  Async<std::unique_ptr<FileSource>> Fetch(WantedFile wanted);
  void Say(Way way, const absl::Status& why);

  AgentClient& agent_;
  DescriptorDoor* const door_;
  boost::asio::thread_pool threads_{kFileSendThreads};
  std::atomic<Way> way_{Way::kUnknown};  // What the journal was told.
};

}  // namespace sandkeep
