// A folder of a sandbox as an archive, made while it is sent: one file after the other, as fast
// as the reader takes it. Symbolic links, devices and what may not be read are left out. A file
// that shrinks under the read cuts the connection, and so does all else that fails, a folder that
// can't be listed to its end, and a file of another volume than the link's: nobody shall take a
// part for the whole, nor what is another's.
//
// One coroutine's.
#pragma once

#include <boost/asio/thread_pool.hpp>
#include <memory>
#include <string>
#include <vector>

#include "agent/client/agent_client.h"
#include "common/ids.h"
#include "gateway/downloads/archive_writer.h"
#include "gateway/downloads/linked_folder.h"
#include "gateway/http/exchange.h"

namespace sandkeep {

class FolderArchive {
 public:
  // All outlive it. Files are packed on `packers`: it takes milliseconds for each chunk, in which
  // nobody else's connection shall wait. Names in it are relative to the folder.
  FolderArchive(AgentClient& agent, http::Exchange& exchange, boost::asio::thread_pool& packers,
                const LinkedFolder& linked)
      : agent_(agent),
        exchange_(exchange),
        packers_(packers),
        key_(linked.claim.key),
        generation_(linked.owner.generation),
        root_(linked.folder.path),
        packed_(std::make_shared<Packed>(MakeArchiveWriter(linked.folder.format))) {
    folders_.push_back(root_);
  }

  // After the answer has begun, one behind the other. False: it isn't whole, and the connection is
  // to be cut.
  boost::asio::awaitable<bool> SendEntries();
  boost::asio::awaitable<bool> Finish();

 private:
  boost::asio::awaitable<bool> SendFolder(std::string folder);
  boost::asio::awaitable<bool> SendEntry(const agent::v1::FileInfo& info);
  boost::asio::awaitable<bool> SendFile(const agent::v1::FileInfo& info);
  boost::asio::awaitable<void> Pack(std::string data);
  boost::asio::awaitable<bool> Write();
  std::string NameOf(const agent::v1::FileInfo& info) const;

  AgentClient& agent_;
  http::Exchange& exchange_;
  boost::asio::thread_pool& packers_;
  const SandboxKey key_;
  const std::string generation_;
  const std::string root_;
  std::vector<std::string> folders_;  // To go into; the last one first.
  int entries_ = 0;
  // A packer may still be at it when the coroutine is gone.
  struct Packed {
    explicit Packed(std::unique_ptr<ArchiveWriter> made) : archive(std::move(made)) {}
    const std::unique_ptr<ArchiveWriter> archive;
    std::string out;
  };
  const std::shared_ptr<Packed> packed_;
};

}  // namespace sandkeep
