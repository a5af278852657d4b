#include "gateway/keys/command.h"

#include <utility>

#include "absl/time/time.h"
#include "common/status_macros.h"
#include "common/strings.h"
#include "gateway/keys/key_table.h"
#include "gateway/store/database.h"
#include "gateway/store/state_dir.h"

namespace sandkeep {
namespace {

constexpr std::string_view kUsage =
    "usage: sandkeep-gateway keys add NAME | list | remove NAME\n"
    "  add     makes an access key for NAME and prints it once; a name may have several\n"
    "  list    shows the names, their principals and how many keys each has\n"
    "  remove  takes back every key of NAME\n";

absl::StatusOr<KeyTable> OpenTable(const std::string& state_dir) {
  RETURN_IF_ERROR(BecomeOwnerOf(state_dir));
  RETURN_IF_ERROR(PrepareStateDir(state_dir));
  ASSIGN_OR_RETURN(Database db, OpenGatewayDatabase(state_dir));
  return KeyTable(std::move(db));
}

absl::Status Add(KeyTable& table, std::string_view name, Random& random, const Clock& clock,
                 std::ostream& out) {
  ASSIGN_OR_RETURN(const Secret key, table.Add(name, random, clock));
  out << key.Reveal() << "\n" << std::flush;
  return absl::OkStatus();
}

absl::Status List(KeyTable& table, std::ostream& out) {
  ASSIGN_OR_RETURN(const std::vector<KeyTable::Row> rows, table.List());
  for (const KeyTable::Row& row : rows) {
    out << row.name << "\t" << row.principal << "\t" << row.keys
        << (row.keys == 1 ? " key" : " keys") << "\tsince "
        << absl::FormatTime("%Y-%m-%d", absl::FromUnixMillis(row.created_ms), absl::UTCTimeZone())
        << "\n";
  }
  return absl::OkStatus();
}

}  // namespace

int RunKeysCommand(const std::string& state_dir, const std::vector<std::string>& arguments,
                   Random& random, const Clock& clock, std::ostream& out, std::ostream& err) {
  const std::string verb = arguments.empty() ? "" : arguments.front();
  const bool named = verb == "add" || verb == "remove";
  if ((!named && verb != "list") || arguments.size() != (named ? 2U : 1U)) {
    err << kUsage;
    return 2;
  }
  absl::StatusOr<KeyTable> table = OpenTable(state_dir);
  absl::Status done = table.status();
  if (table.ok()) {
    if (verb == "add") done = Add(*table, arguments[1], random, clock, out);
    if (verb == "remove") done = table->Remove(arguments[1]);
    if (verb == "list") done = List(*table, out);
  }
  if (done.ok()) return 0;
  err << "sandkeep-gateway: " << ToStd(done.message()) << "\n";
  return 1;
}

}  // namespace sandkeep
