#include "agent/runtime/neighbour_limits.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>
#include <utility>

#include "agent/runtime/process.h"
#include "agent/runtime/small_file.h"
#include "common/limits.h"
#include "common/log.h"
#include "common/status_macros.h"
#include "common/strings.h"

namespace sandkeep {
namespace {

constexpr std::string_view kProgram = "/usr/bin/nsenter";

// 0: this kernel doesn't say.
std::int64_t NumberIn(const std::string& path) {
  const absl::StatusOr<std::string> text = ReadSmallFile(path, kMaxNumberTextBytes);
  std::int64_t number = 0;
  if (text.ok()) std::from_chars(text->data(), text->data() + text->size(), number);
  return number;
}

// As root of that namespace, which the agent is for being its owner. The kernel takes a namespace's
// limit from whoever writes the file inside it, so it can't be written from here.
constexpr std::string_view kScript =
    "echo \"$1\" >/proc/sys/user/max_inotify_instances && "
    "echo \"$2\" >/proc/sys/user/max_inotify_watches";

Async<void> Set(pid_t init, std::int64_t instances, std::int64_t watches) {
  ProcessCommand command{
      .program = std::string(kProgram),
      .arguments = {"--user", StrCat("--target=", init), "--", "/bin/sh", "-c",
                    std::string(kScript), "sh", StrCat(instances), StrCat(watches)},
      .environment = {"PATH=/usr/bin:/bin", "LC_ALL=C.UTF-8"}};
  CO_ASSIGN_OR_RETURN(const ProcessResult done,
                      co_await RunProcess(std::move(command), kNeighbourLimitsDeadline));
  if (done.succeeded()) co_return absl::OkStatus();
  co_return absl::UnavailableError(done.Summary());
}

}  // namespace

std::int64_t ShareOf(std::int64_t of_host, std::int64_t least) {
  return std::max(of_host / kInotifyParts, std::min(least, of_host));
}

boost::asio::awaitable<void> LimitInotify(pid_t init) {
  const std::int64_t instances = NumberIn("/proc/sys/fs/inotify/max_user_instances");
  const std::int64_t watches = NumberIn("/proc/sys/fs/inotify/max_user_watches");
  if (instances == 0 || watches == 0) co_return;
  const absl::Status set = co_await Set(init, ShareOf(instances, kLeastInotifyInstances),
                                        ShareOf(watches, kLeastInotifyWatches));
  if (set.ok()) co_return;
  Log(Severity::kWarning, "container.inotify",
      {{"why", set}, {"what", "a sandbox can use up what its neighbours need to watch files"}});
}

}  // namespace sandkeep
