// Where the agent's calls for files meet the running sandkeep-files: starts it on first use and
// again after its death, and tells it of volumes as they are asked for. Lives on its strand: every
// call but strand() comes from there, and Answer from a coroutine that Uncancelled() was awaited
// in: all callers share one start, one opening of a volume and one process.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "agent/file_process/connection.h"
#include "agent/file_process/file_process.h"
#include "common/async.h"
#include "common/ids.h"
#include "common/rel_path.h"

namespace sandkeep {

class FileDesk : public std::enable_shared_from_this<FileDesk> {
 public:
  using Strand = FileConnection::Strand;

  FileDesk(const boost::asio::any_io_executor& executor, FileProcessOptions options,
           VolumeOpener opener)
      : strand_(boost::asio::make_strand(executor)),
        options_(std::move(options)),
        opener_(std::move(opener)),
        started_(strand_, boost::asio::steady_timer::time_point::max()),
        added_(strand_, boost::asio::steady_timer::time_point::max()) {}

  const Strand& strand() const { return strand_; }

  // Asks about a path in a volume: `ask` fills in the call.
  struct Details {
    int limit = 0;
    bool flag = false;  // make_parents, recursive, give_up
    std::string part;
    std::int64_t since_ns = 0;
    bool begun = false;
    std::uint64_t walk = 0;
  };
  using Ask = void (*)(files::v1::Request& request, std::uint64_t handle, const std::string& path,
                       const Details& details);
  Async<FileAnswer> Answer(EngineName volume, RelPath path, Details details, Ask ask);

  void Drop(const EngineName& volume);
  void Close();
  // What it sent can't be: it is not asked again.
  absl::Status Distrust(const absl::Status& why);

 private:
  struct Volume {
    std::uint64_t handle = 0;
    std::uint64_t used = 0;
  };

  Async<std::shared_ptr<FileConnection>> Connected();
  Async<std::uint64_t> HandleOf(std::shared_ptr<FileConnection> connection, EngineName volume);
  Async<std::uint64_t> AddVolume(std::shared_ptr<FileConnection> connection, EngineName volume);
  std::optional<std::uint64_t> KnownHandle(const EngineName& volume);
  Async<void> MakeRoom(std::shared_ptr<FileConnection> connection);
  static boost::asio::awaitable<void> Forget(std::shared_ptr<FileConnection> connection,
                                             std::uint64_t handle);

  const Strand strand_;
  const FileProcessOptions options_;
  const VolumeOpener opener_;
  std::shared_ptr<FileConnection> connection_;
  bool starting_ = false;
  boost::asio::steady_timer started_;  // Cancelled when a start has come to its end.
  absl::Status start_failure_;
  bool adding_ = false;
  boost::asio::steady_timer added_;  // Cancelled when one volume has been added.
  std::uint64_t next_handle_ = 1;
  std::uint64_t uses_ = 0;
  absl::flat_hash_map<EngineName, Volume> volumes_;
};

}  // namespace sandkeep
