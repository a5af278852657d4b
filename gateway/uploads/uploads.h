// The open uploads: in memory for every look (upload_book.h), in the database for a restart. What
// began and never became whole is taken back from the workspace when its upload is over, by Sweep
// at the latest. One whose sandbox's files were removed is over, too: what is handed in there was
// for others. What is over can still be asked for, for a day and within bounds. Thread-safe; what
// is written waits on a thread of its own.
#pragma once

#include <boost/asio/thread_pool.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/client/agent_client.h"
#include "common/clock.h"
#include "common/random.h"
#include "gateway/mcp/upload_desk.h"
#include "gateway/uploads/upload_book.h"
#include "gateway/uploads/upload_table.h"

namespace sandkeep {

class Uploads : public mcp::UploadDesk {
 public:
  // Reads what an earlier run left: blocks on the disk. The others outlive it.
  static absl::StatusOr<std::unique_ptr<Uploads>> Start(Database db, AgentClient& agent,
                                                        Random& random, const Clock& clock);
  ~Uploads() override;

  Async<mcp::OpenedUpload> Open(mcp::UploadRequest request) override;
  Async<mcp::UploadView> Wait(std::string principal, std::string label, std::string name,
                              std::chrono::steady_clock::time_point until) override;

  // What a token opens. NotFound; OutOfRange: it is over.
  absl::StatusOr<UploadGrant> Find(std::string_view token) const;

  // Whether its volume is still there; one that had none yet is for the one that there is now.
  // OutOfRange: it is over.
  Async<void> CheckVolume(std::string hash);
  // Its sandbox, which had none, got this volume by a file of its.
  void Bind(const std::string& hash, const std::string& generation);

  // What this very file became, if it has arrived: its sender may not have heard of it. One without
  // an id is only known by the rest of it, after what came before: `goes_on`.
  std::optional<mcp::ArrivedFile> ArrivedAs(const std::string& hash, const SentFile& sent,
                                            bool goes_on) const;

  // A piece of a file of `size` bytes is on its way, as long as the transfer lives; the whole size
  // counts against the cap. ResourceExhausted: there is no more room, or too many files. Aborted:
  // it is on its way already. FailedPrecondition: too many of this principal's are.
  class Transfer;
  Async<std::unique_ptr<Transfer>> Begin(std::string hash, SentFile sent);
  // It has a piece more: its time begins anew, but not beyond kMaxUploadAge.
  Async<void> Extend(std::string hash);
  // It is whole; `file` says what it became.
  Async<void> Arrived(std::string hash, SentFile sent, mcp::ArrivedFile file);
  // The person is done.
  Async<void> End(std::string hash);

  // Takes back what nobody will finish, and forgets what is too old or too much. To be called every
  // kUploadSweepInterval.
  boost::asio::awaitable<void> Sweep();

 private:
  Uploads(UploadTable table, std::vector<UploadRow> rows, AgentClient& agent, Random& random,
          const Clock& clock);
  // Empty: it has none.
  Async<std::string> VolumeOf(mcp::UploadRequest request);
  Async<void> EndAbandoned(std::string principal);
  Async<void> MarkDone(std::string hash);
  // False: it may still be there, and is tried again with the next sweep.
  Async<bool> ClearPart(UploadRow row, SentFile part);
  Async<void> Clear(std::vector<UploadLeftover> leftovers);

  AgentClient& agent_;
  Random& random_;
  const Clock& clock_;
  UploadBook book_;
  UploadTable table_;  // The thread's.
  boost::asio::thread_pool thread_{1};
};

// What the agent is told of a file of an upload, from the start.
agent::v1::WriteFileHeader UploadHeader(std::string_view hash, const mcp::UploadRequest& request,
                                        const SentFile& file);

// A piece of a file is on its way as long as it lives.
class Uploads::Transfer {
 public:
  Transfer(Uploads& owner, std::string hash, std::string path, UploadAdmission admission)
      : owner_(owner), hash_(std::move(hash)), path_(std::move(path)), admission_(admission) {}
  ~Transfer() { owner_.book_.Stop(hash_, path_); }
  // Nothing of this file came before, as far as is known.
  bool is_new() const { return admission_.is_new; }
  // Its upload isn't too old yet.
  bool MayGoOn() const { return owner_.clock_.Now() < admission_.end; }
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

 private:
  Uploads& owner_;
  const std::string hash_;
  const std::string path_;
  const UploadAdmission admission_;
};

}  // namespace sandkeep
