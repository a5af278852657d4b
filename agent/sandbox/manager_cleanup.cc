// FILE_TTL: of each workspace, what lies at its top and in which nothing has changed for so long
// goes. When in doubt, it stays.

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "absl/time/time.h"
#include "agent/sandbox/garbage.h"
#include "agent/sandbox/manager.h"
#include "common/limits.h"
#include "common/status_macros.h"
#include "common/utf8.h"

namespace sandkeep {

boost::asio::awaitable<void> Manager::CleanUp() {
  boost::asio::steady_timer timer(strand_);
  for (;;) {
    // Also before the first look: a machine that has just started may not know the time yet.
    timer.expires_after(absl::ToChronoNanoseconds(limits_.cleanup_interval));
    co_await timer.async_wait(boost::asio::as_tuple(boost::asio::use_awaitable));
    for (const std::shared_ptr<Sandbox>& sandbox : registry_.All()) co_await CleanUpOne(sandbox);
  }
}

boost::asio::awaitable<void> Manager::CleanUpOne(std::shared_ptr<Sandbox> sandbox) {
  if (!sandbox->View().recorded) co_return;
  RelPath top = Workspace();
  const absl::StatusOr<std::vector<FileEntry>> entries =
      co_await context_.files.List(sandbox->volume(), std::move(top), kMaxListEntries);
  absl::Status failed = entries.status();
  bool any = false;
  for (std::size_t i = 0; entries.ok() && i < entries->size(); ++i) {
    const absl::StatusOr<bool> removed = co_await CleanUpEntry(sandbox->volume(), (*entries)[i]);
    failed.Update(removed.status());
    any = any || (removed.ok() && *removed);
  }
  if (any) (co_await sandbox->FilesExpired()).IgnoreError();
  if (failed.ok()) co_return;
  Log(Severity::kWarning, "files.not_cleaned_up",
      {{"sandbox", sandbox->key().text()}, {"why", failed}});
}

Async<bool> Manager::CleanUpEntry(EngineName volume, FileEntry entry) {
  const absl::Time now = clock_.Now();
  // Of a folder, something in it may be newer than it is itself.
  if (now - absl::FromUnixNanos(entry.changed_ns) < limits_.file_ttl) co_return false;
  CO_ASSIGN_OR_RETURN(RelPath path, RelPath::Parse(entry.path));
  CO_ASSIGN_OR_RETURN(
      const MeasuredTree tree,
      co_await context_.files.Measure(volume, path, absl::FromChrono(kCleanUpPatience)));
  if (tree.missing.empty() && now - tree.newest < limits_.file_ttl) co_return false;
  if (!tree.missing.empty()) {
    Log(Severity::kInfo, "files.kept",
        {{"volume", volume.text()}, {"path", ToValidUtf8(entry.path)}, {"why", tree.missing}});
    co_return false;
  }
  const absl::StatusOr<std::int64_t> removed =
      co_await context_.files.DeleteUnchanged(volume, std::move(path), tree.newest);
  Log(Severity::kInfo, "files.expired",
      {{"volume", volume.text()},
       {"path", ToValidUtf8(entry.path)},
       {"bytes", tree.bytes},
       {"removed", removed.status()}});
  CO_RETURN_IF_ERROR(removed.status());
  co_return true;
}

}  // namespace sandkeep
