#include "agent/runtime/neighbour_limits.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "agent/runtime/process.h"
#include "agent/runtime/small_file.h"
#include "common/limits.h"
#include "common/log.h"
#include "common/status_codes.h"
#include "common/status_macros.h"
#include "common/strings.h"

namespace sandkeep {
namespace {

constexpr std::string_view kProgram = "/usr/bin/nsenter";
constexpr std::chrono::milliseconds kDeadline{5000};
constexpr std::size_t kMaxNumberText = 32;

// 0: this kernel doesn't say.
std::int64_t NumberIn(const std::string& path) {
  const absl::StatusOr<std::string> text = ReadSmallFile(path, kMaxNumberText);
  std::int64_t number = 0;
  if (text.ok()) std::from_chars(text->data(), text->data() + text->size(), number);
  return number;
}

// Of which the text is read.
absl::StatusOr<UniqueFd> TextFile(std::string_view text) {
  UniqueFd file(::memfd_create("limit", MFD_CLOEXEC));
  const auto size = static_cast<ssize_t>(text.size());
  if (!file || ::write(file.get(), text.data(), text.size()) != size ||
      ::lseek(file.get(), 0, SEEK_SET) != 0) {
    return ErrnoStatus(errno, "a text in memory");
  }
  return file;
}

// As root of that namespace, which the agent is for being its owner. The kernel takes a namespace's
// limit from whoever writes the file inside it, so it can't be written from here.
Async<void> Set(pid_t init, std::string name, std::int64_t limit) {
  CO_ASSIGN_OR_RETURN(UniqueFd text, TextFile(StrCat(limit, "\n")));
  ProcessCommand command{.program = std::string(kProgram),
                         .arguments = {"--user", StrCat("--target=", init), "--", "/usr/bin/tee",
                                       StrCat("/proc/sys/user/", name)},
                         .environment = {"PATH=/usr/bin:/bin", "LC_ALL=C.UTF-8"}};
  auto input = std::make_shared<const UniqueFd>(std::move(text));
  CO_ASSIGN_OR_RETURN(const ProcessResult done,
                      co_await RunProcess(std::move(command), kDeadline, std::move(input)));
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
  absl::Status set =
      co_await Set(init, "max_inotify_instances", ShareOf(instances, kLeastInotifyInstances));
  if (set.ok()) {
    set = co_await Set(init, "max_inotify_watches", ShareOf(watches, kLeastInotifyWatches));
  }
  if (set.ok()) co_return;
  Log(Severity::kWarning, "container.inotify",
      {{"why", set}, {"what", "a sandbox can use up what its neighbours need to watch files"}});
}

}  // namespace sandkeep
