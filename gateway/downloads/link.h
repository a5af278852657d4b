// Signed links to a sandbox's files: `<base>/dl/<expiry>/<signature>/<key>/<path>`.
//
// The signature is the first 128 bits of an HMAC-SHA-256, in strict base64url, over a type tag, the
// volume's generation, the sandbox's key, the file's path and the time at which the link ends, and
// how often its principal's links were revoked, if they ever were; one that stands on a folder's
// page has the mark of that folder's link behind it, signed as well. A link is permission for
// whoever has it: never logged, and the same answer for every wrong one. Any thread.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "common/clock.h"
#include "common/ids.h"
#include "common/rel_path.h"
#include "gateway/downloads/link_book.h"
#include "gateway/downloads/page_links.h"
#include "gateway/mcp/endpoint.h"

namespace sandkeep {

struct ArchivedFolder {
  std::string path;  // Empty: the workspace.
  mcp::ArchiveFormat format = mcp::ArchiveFormat::kZip;
};

struct LinkedOutput {
  JobId id;
  bool errors = false;  // Its stderr, where that is a stream of its own.

  friend bool operator==(const LinkedOutput&, const LinkedOutput&) = default;
};

// What a link says, before anything of it is believed.
struct LinkClaim {
  absl::Time expiry;
  std::string signature;  // 16 bytes.
  std::string parent;     // A ParentMark, if it stands on a folder's page; else empty.
  SandboxKey key;
  RelPath path;

  // `rest` is what follows `/dl/`, still encoded. nullopt: not a link of ours, whoever signed it.
  static std::optional<LinkClaim> Parse(std::string_view rest);

  // The job of whose output the path is the name; nullopt: it is a file's.
  std::optional<LinkedOutput> job() const;
  // The folder of whose archive the path is the name.
  std::optional<ArchivedFolder> folder() const;
};

enum class LinkVerdict { kWrong, kExpired, kGood };

// The sandbox that a link is for, as the agent knows it.
struct LinkOwner {
  std::string_view principal;
  std::string_view generation;
};

// SANDBOX_LINK_TTL, whose default is the profile's; the agent says which one that is.
struct LinkLifetimes {
  explicit LinkLifetimes(std::chrono::seconds both) : conversation(both), persistent(both) {}
  LinkLifetimes(std::chrono::seconds in_conversation, std::chrono::seconds in_persistent)
      : conversation(in_conversation), persistent(in_persistent) {}

  std::chrono::seconds conversation;
  std::chrono::seconds persistent;
};

class LinkSigner : public mcp::LinkMaker {
 public:
  // Both outlive it. `download_base`: where all links lead; empty: to the base they are asked for.
  LinkSigner(const LinkBook& book, LinkLifetimes lifetimes, const Clock& clock,
             std::string download_base = {})
      : book_(book),
        lifetimes_(lifetimes),
        clock_(clock),
        download_base_(std::move(download_base)) {}

  // An expired link is told from a wrong one only if its signature is right.
  // A job's output is another thing than a file of that path, and so is a folder's archive.
  LinkVerdict Judge(const LinkClaim& claim, const LinkOwner& owner) const;
  LinkVerdict JudgeForFolder(const LinkClaim& claim, const LinkOwner& owner) const;
  LinkVerdict JudgeForJob(const LinkClaim& claim, const LinkOwner& owner) const;

  // For the page of a folder whose link this is: nullopt: the key that signed it has just ended.
  std::optional<PageLinks> LinksBelow(std::string_view public_base, const LinkClaim& claim,
                                      const LinkOwner& owner) const;

  // The ETag under which this link's file is given out: none but who was given it by this link can
  // know it. So it proves, after the link's end, that the download began before, and no restart
  // forgets that.
  std::string Stamped(const LinkClaim& claim, std::string_view etag) const;
  // The link's time is over, but not that for finishing what had begun.
  bool MayBeResumed(const LinkClaim& claim) const;

  std::string Make(std::string_view public_base, const mcp::LinkTarget& target,
                   std::string_view path) override;
  std::string MakeForFolder(std::string_view public_base, const mcp::LinkTarget& target,
                            std::string_view path, mcp::ArchiveFormat format) override;
  std::string MakeForJob(std::string_view public_base, const mcp::LinkTarget& target,
                         const JobId& job, bool errors) override;
  std::chrono::seconds LifetimeFor(const mcp::LinkTarget& target) const override {
    return target.persistent ? lifetimes_.persistent : lifetimes_.conversation;
  }

 private:
  const LinkKey* KeyOf(const LinkSecrets& secrets, std::string_view tag, const LinkClaim& claim,
                       const LinkOwner& owner) const;
  LinkVerdict JudgeAs(std::string_view tag, const LinkClaim& claim, const LinkOwner& owner) const;
  std::string MakeAs(std::string_view tag, std::string_view public_base,
                     const mcp::LinkTarget& target, std::string_view path) const;

  const LinkBook& book_;
  const LinkLifetimes lifetimes_;
  const Clock& clock_;
  const std::string download_base_;
};

}  // namespace sandkeep
