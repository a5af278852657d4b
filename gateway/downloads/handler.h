// GET and HEAD /dl/…: a file or a folder (folder_answers.h) of a sandbox, or what a job printed,
// for whoever has its link.
//
// The agent is asked for the volume's generation and principal, unless they are known; then the
// signature is judged, and only then is the agent asked for the file, whose generation must be the
// one that the link was judged by. Every wrong link gets the same 404, whatever is wrong with it;
// so do those of a principal that was removed. A file goes out as fast as the client takes it
// (file_source.h); one that shrinks under the read cuts the connection, so that nobody takes a part
// for the whole. A download that began in the link's time may be resumed for kResumeGrace after it,
// by the ETag that only this link gave out.
#pragma once

#include <atomic>
#include <optional>
#include <string>

#include "agent/client/agent_client.h"
#include "common/limits.h"
#include "gateway/downloads/file_source.h"
#include "gateway/downloads/folder_answers.h"
#include "gateway/downloads/known_owners.h"
#include "gateway/downloads/link.h"
#include "gateway/downloads/mime_types.h"
#include "gateway/downloads/validators.h"
#include "gateway/http/exchange.h"
#include "gateway/keys/access_keys.h"

namespace sandkeep {

class DownloadHandler : public http::Handler {
 public:
  // All outlive it. `door` null: files are streamed.
  DownloadHandler(AgentClient& agent, DescriptorDoor* door, const LinkSigner& signer,
                  const MimeTypes& types, const AccessKeys& keys)
      : agent_(agent),
        signer_(signer),
        types_(types),
        keys_(keys),
        sources_(agent, door),
        folders_(agent, signer) {}

  boost::asio::awaitable<void> Handle(http::Exchange& exchange) override;

 private:
  // What a link is good for: a file or, if `job` is set, that job's output, or `folder`.
  struct Target {
    LinkClaim claim;
    KnownOwner owner;
    std::optional<LinkedOutput> job;
    std::optional<ArchivedFolder> folder;
    bool expired = false;  // Good for nothing but the rest of a file.
  };

  // `page` instead of the file, or `head` and that part of it.
  struct Plan {
    std::optional<http::Response> page = {};
    http::Response head = {};
    std::int64_t offset = 0;
    std::int64_t length = 0;
  };

  // An error says which page to show instead.
  Async<Target> Verify(std::string path);
  Async<Target> Judge(LinkClaim claim);

  std::optional<Target> JudgeAtOnce(const LinkClaim& claim) const;
  Async<KnownOwner> OwnerOf(SandboxKey key);

  boost::asio::awaitable<void> Answer(http::Exchange& exchange, Target target);
  Plan PlanFor(const http::Request& request, const Target& target,
               const absl::StatusOr<agent::v1::FileInfo>& info);
  absl::Status AnotherVolume(const SandboxKey& key, const agent::v1::FileInfo& info);
  boost::asio::awaitable<bool> GoesOn(http::Exchange& exchange, Plan& plan);
  Validators ValidatorsOf(const LinkClaim& claim, const agent::v1::FileInfo& info) const;
  boost::asio::awaitable<void> SendOutput(http::Exchange& exchange, SandboxKey key,
                                          LinkedOutput job);

  AgentClient& agent_;
  const LinkSigner& signer_;
  const MimeTypes& types_;
  const AccessKeys& keys_;
  KnownOwners owners_;
  FileSources sources_;
  FolderAnswers folders_;
  std::atomic<int> running_{0};
};

}  // namespace sandkeep
