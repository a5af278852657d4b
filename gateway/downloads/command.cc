#include "gateway/downloads/command.h"

#include <string_view>

#include "common/limits.h"
#include "common/status_macros.h"
#include "common/strings.h"
#include "gateway/downloads/link.h"
#include "gateway/downloads/link_table.h"
#include "gateway/keys/key_table.h"
#include "gateway/store/database.h"

namespace sandkeep {
namespace {

constexpr std::string_view kUsageText =
    "usage: sandkeep-gateway links rotate [--overlap=24h | --now]\n"
    "                              revoke LINK | NAME\n"
    "  rotate  makes a new key that signs links; those signed before are good for the overlap "
    "yet,\n"
    "          with --now not at all\n"
    "  revoke  ends one link, a folder's with all that its page gave out; or all that were made\n"
    "          so far for whom NAME's keys belong to\n";

constexpr std::string_view kDownloads = "/dl/";

bool FitsUsage(const LinksArguments& given) {
  const std::string verb = given.words.empty() ? "" : given.words.front();
  if (given.overlap.has_value() && given.now) return false;
  const absl::Duration overlap = given.overlap.value_or(absl::ZeroDuration());
  if (overlap < absl::ZeroDuration() || overlap == absl::InfiniteDuration()) return false;
  if (verb == "rotate") return given.words.size() == 1;
  return verb == "revoke" && given.words.size() == 2 && !given.overlap.has_value() && !given.now;
}

}  // namespace

int LinksCommand::Run(const LinksArguments& arguments) {
  if (!FitsUsage(arguments)) {
    parts_.err << kUsageText;
    return 2;
  }
  const absl::Status done = Do(arguments);
  if (done.ok()) return 0;
  parts_.err << "sandkeep-gateway: " << ToStd(done.message()) << "\n";
  return 1;
}

absl::Status LinksCommand::Do(const LinksArguments& arguments) {
  if (arguments.words.front() == "revoke") return Revoke(arguments.words[1]);
  ASSIGN_OR_RETURN(Database db, OpenAsOwner(parts_.state_dir));
  LinkTable links(std::move(db));
  const absl::Duration overlap =
      arguments.now ? absl::ZeroDuration()
                    : arguments.overlap.value_or(absl::FromChrono(kLinkKeyOverlap));
  return links.Rotate(overlap, parts_.random, parts_.clock);
}

absl::Status LinksCommand::Revoke(const std::string& what) {
  ASSIGN_OR_RETURN(Database db, OpenAsOwner(parts_.state_dir));
  const std::size_t link = what.find(kDownloads);
  if (link == std::string::npos) {
    ASSIGN_OR_RETURN(Database names, OpenAsOwner(parts_.state_dir));
    ASSIGN_OR_RETURN(const std::string principal, KeyTable(std::move(names)).PrincipalOf(what));
    return LinkTable(std::move(db)).RevokeAllOf(principal);
  }
  const auto claim = LinkClaim::Parse(std::string_view(what).substr(link + kDownloads.size()));
  if (!claim.has_value()) return absl::InvalidArgumentError("this is no link of ours");
  const absl::Time until = claim->expiry + absl::FromChrono(kResumeGrace);
  return LinkTable(std::move(db)).Revoke(claim->signature, until, parts_.clock);
}

}  // namespace sandkeep
