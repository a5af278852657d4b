// Signed links to a sandbox's files: `<base>/dl/<expiry>/<signature>/<key>/<path>`.
//
// The signature is the first 128 bits of an HMAC-SHA-256, in strict base64url, over a type tag, the
// volume's generation, the sandbox's key, the file's path and the time at which the link ends. A
// link is permission for whoever has it: never logged, and the same answer for every wrong one.
// Any thread.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/clock.h"
#include "common/ids.h"
#include "common/rel_path.h"
#include "common/secret.h"
#include "gateway/mcp/endpoint.h"

namespace sandkeep {

// What a link says, before anything of it is believed.
struct LinkClaim {
  absl::Time expiry;
  std::string signature;  // 16 bytes.
  SandboxKey key;
  RelPath path;

  // `rest` is what follows `/dl/`, still encoded. nullopt: not a link of ours, whoever signed it.
  static std::optional<LinkClaim> Parse(std::string_view rest);

  // The job of whose output the path is the name; nullopt: it is a file's.
  std::optional<JobId> job() const;
};

enum class LinkVerdict { kWrong, kExpired, kGood };

class LinkSigner : public mcp::LinkMaker {
 public:
  // The first key signs, every one verifies.
  LinkSigner(std::vector<Secret> keys, std::chrono::seconds lifetime, const Clock& clock)
      : keys_(std::move(keys)), lifetime_(lifetime), clock_(clock) {}

  // An expired link is told from a wrong one only if its signature is right.
  // A job's output is another thing than a file of that path.
  LinkVerdict Judge(const LinkClaim& claim, std::string_view generation) const;
  LinkVerdict JudgeForJob(const LinkClaim& claim, std::string_view generation) const;

  std::string Make(std::string_view public_base, std::string_view key, std::string_view generation,
                   std::string_view path) override;
  std::string MakeForJob(std::string_view public_base, std::string_view key,
                         std::string_view generation, const JobId& job) override;
  std::chrono::seconds lifetime() const override { return lifetime_; }

 private:
  LinkVerdict JudgeAs(std::string_view tag, const LinkClaim& claim,
                      std::string_view generation) const;
  std::string MakeAs(std::string_view tag, std::string_view public_base, std::string_view key,
                     std::string_view generation, std::string_view path) const;

  const std::vector<Secret> keys_;
  const std::chrono::seconds lifetime_;
  const Clock& clock_;
};

}  // namespace sandkeep
