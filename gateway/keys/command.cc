#include "gateway/keys/command.h"

#include <utility>

#include "absl/time/time.h"
#include "common/limits.h"
#include "common/status_macros.h"
#include "common/strings.h"
#include "gateway/keys/key_table.h"
#include "gateway/store/database.h"

namespace sandkeep {
namespace {

constexpr std::string_view kUsageText =
    "usage: sandkeep-gateway keys add NAME [--device=DEVICE] [--adopt]\n"
    "                             list\n"
    "                             rotate NAME [--device=DEVICE] [--overlap=24h | --now]\n"
    "                             remove NAME [--device=DEVICE]\n"
    "  add     makes an access key for NAME and prints it once; a name may have several, each for\n"
    "          a device. --adopt: NAME was removed, and is to have its sandboxes back\n"
    "  list    shows the names, their principals and their keys\n"
    "  rotate  makes a new key and ends the old one and its sign-ins, after the overlap\n"
    "  remove  takes back every key of NAME, or that of one device, and ends its sign-ins\n";

std::string Day(std::int64_t ms) {
  return absl::FormatTime("%Y-%m-%d", absl::FromUnixMillis(ms), absl::UTCTimeZone());
}

std::string Minute(std::int64_t ms) {
  return absl::FormatTime("%Y-%m-%d %H:%M UTC", absl::FromUnixMillis(ms), absl::UTCTimeZone());
}

std::string Count(std::int64_t count, std::string_view one, std::string_view many) {
  return StrCat(count, " ", count == 1 ? one : many);
}

bool FitsUsage(const KeysArguments& given) {
  const std::string verb = given.words.empty() ? "" : given.words.front();
  const bool add = verb == "add";
  const bool rotate = verb == "rotate";
  const bool named = add || rotate || verb == "remove";
  if (!named && verb != "list") return false;
  if (given.words.size() != (named ? 2U : 1U)) return false;
  if (given.device.has_value() && !named) return false;
  if (given.adopt && !add) return false;
  if ((given.overlap.has_value() || given.now) && !rotate) return false;
  return !(given.overlap.has_value() && given.now) &&
         given.overlap.value_or(absl::ZeroDuration()) >= absl::ZeroDuration() &&
         given.overlap.value_or(absl::ZeroDuration()) < absl::InfiniteDuration();
}

absl::Status List(KeyTable& table, std::ostream& out) {
  ASSIGN_OR_RETURN(const std::vector<KeyTable::Row> rows, table.List());
  for (const KeyTable::Row& row : rows) {
    out << row.name << "\t" << row.principal << "\t"
        << Count(static_cast<std::int64_t>(row.keys.size()), "key", "keys") << "\tsince "
        << Day(row.created_ms) << "\n";
    for (const KeyTable::Key& key : row.keys) {
      out << "  " << key.device << "\tsince " << Day(key.created_ms) << "\t"
          << Count(key.sign_ins, "sign-in", "sign-ins");
      if (key.expires_ms.has_value()) out << "\tends " << Minute(*key.expires_ms);
      out << "\n";
    }
  }
  return absl::OkStatus();
}

}  // namespace

int KeysCommand::Run(const KeysArguments& arguments) {
  if (!FitsUsage(arguments)) {
    parts_.err << kUsageText;
    return 2;
  }
  const absl::Status done = Do(arguments);
  if (done.ok()) return 0;
  parts_.err << "sandkeep-gateway: " << ToStd(done.message()) << "\n";
  return 1;
}

absl::Status KeysCommand::Do(const KeysArguments& arguments) {
  ASSIGN_OR_RETURN(Database db, OpenAsOwner(parts_.state_dir));
  KeyTable table(std::move(db));
  const std::string& verb = arguments.words.front();
  if (verb == "list") return List(table, parts_.out);
  const std::string& name = arguments.words[1];
  if (verb == "remove") {
    return arguments.device.has_value() ? table.RemoveDevice(name, *arguments.device)
                                        : Remove(table, name);
  }
  if (verb == "add") {
    const KeyTable::AddOptions options{.device = arguments.device.value_or(""),
                                       .adopt = arguments.adopt};
    return Print(table.Add(name, parts_.random, parts_.clock, options));
  }
  const absl::Duration overlap = arguments.now
                                     ? absl::ZeroDuration()
                                     : arguments.overlap.value_or(absl::FromChrono(kKeyOverlap));
  return Print(table.Rotate(name, arguments.device, overlap, parts_.random, parts_.clock));
}

absl::Status KeysCommand::Print(const absl::StatusOr<Secret>& key) {
  if (key.ok()) parts_.out << key->Reveal() << "\n" << std::flush;
  return key.status();
}

absl::Status KeysCommand::Remove(KeyTable& table, const std::string& name) {
  ASSIGN_OR_RETURN(const std::string principal, table.PrincipalOf(name));
  RETURN_IF_ERROR(table.Remove(name, parts_.clock));
  const absl::StatusOr<int> left = parts_.count_sandboxes(principal);
  parts_.err << name << " (" << principal << ") leaves "
             << (left.ok() ? Count(*left, "sandbox", "sandboxes")
                           : "an unknown number of sandboxes")
             << " that no key reaches; `keys add NAME --adopt` brings them back";
  if (!left.ok()) parts_.err << " (" << ToStd(left.status().message()) << ")";
  parts_.err << "\n";
  return absl::OkStatus();
}

}  // namespace sandkeep
