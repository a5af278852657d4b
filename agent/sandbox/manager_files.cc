// Files of a sandbox, whose container need not run: through the file process, and what a sandbox
// has to know of it.

#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "agent/sandbox/host.h"
#include "agent/sandbox/manager.h"
#include "common/limits.h"
#include "common/log.h"
#include "common/part_name.h"
#include "common/run_on.h"
#include "common/status_macros.h"
#include "common/strings.h"

namespace sandkeep {
namespace {

SandboxFile FileOf(const Sandbox& sandbox, FileEntry entry, UniqueFd file) {
  return SandboxFile{.key = sandbox.key(),
                     .generation = sandbox.generation(),
                     .entry = std::move(entry),
                     .file = std::move(file)};
}

// What is still to be taken from the disk before the file is whole: its pieces share one
// reservation, which the first one makes.
std::int64_t MissingBytes(const PendingFile& file, std::int64_t size) {
  constexpr std::int64_t kBlockBytes = 512;  // stat's unit, whatever the file system's is.
  if (file.received() >= size) return 0;
  struct stat info{};
  if (::fstat(file.file().get(), &info) != 0) return size;
  return std::max<std::int64_t>(size - info.st_blocks * kBlockBytes, 0);
}

}  // namespace

Async<SandboxFile> Manager::StatFile(SandboxRef ref, RelPath path) {
  CO_ASSIGN_OR_RETURN(const std::shared_ptr<Sandbox> sandbox, Resolve(ref));
  CO_ASSIGN_OR_RETURN(FileEntry entry,
                      co_await context_.files.Stat(sandbox->volume(), std::move(path)));
  co_return FileOf(*sandbox, std::move(entry), UniqueFd());
}

Async<SandboxFile> Manager::OpenFile(SandboxRef ref, RelPath path) {
  CO_ASSIGN_OR_RETURN(const std::shared_ptr<Sandbox> sandbox, Resolve(ref));
  CO_ASSIGN_OR_RETURN(OpenedFile opened,
                      co_await context_.files.Open(sandbox->volume(), std::move(path)));
  SandboxFile file = FileOf(*sandbox, std::move(opened.entry), std::move(opened.file));
  file.hold = sandbox->Hold();
  co_return file;
}

Async<FileListing> Manager::ListFiles(SandboxRef ref, FileQuery query) {
  CO_ASSIGN_OR_RETURN(const std::shared_ptr<Sandbox> sandbox, Resolve(ref));
  co_return co_await SearchFiles(context_.files, sandbox->volume(), std::move(query));
}

Async<void> Manager::CheckRoom(std::int64_t size) {
  auto measure = [state_dir = context_.state_dir]() { return DiskFreeBytes(state_dir); };
  CO_ASSIGN_OR_RETURN(const std::int64_t free, co_await RunOn(context_.disk, std::move(measure)));
  if (free - size >= limits_.min_free_bytes) co_return absl::OkStatus();
  co_return absl::ResourceExhaustedError(
      "the host's disk is nearly full, and takes no more files: remove some, or tell whoever runs "
      "this host");
}

Async<void> Manager::CheckRoomToBegin(SandboxRef ref, RelPath path, NewFileSpec spec) {
  absl::Status room = co_await CheckRoom(spec.size);
  const absl::StatusOr<std::shared_ptr<Sandbox>> sandbox = Resolve(ref);
  if (room.ok() && sandbox.ok()) room = MayGrow(**sandbox, spec.size);
  if (room.ok() && !sandbox.ok() && ref.principal) room = MayGrow(*ref.principal, spec.size);
  if (room.ok() || spec.part.empty()) co_return room;
  // An upload that has begun has its room.
  CO_ASSIGN_OR_RETURN(RelPath part, RelPath::Parse(PartPath(path.bytes(), spec.part)));
  auto looking = StatFile(std::move(ref), std::move(part));
  const absl::Status begun = (co_await std::move(looking)).status();
  co_return begun.ok() ? absl::OkStatus() : room;
}

Async<Arrival> Manager::MakeReadyForFiles(const SandboxRef& ref) {
  absl::StatusOr<Arrival> ready = absl::AbortedError("not tried");
  for (int tries = 0; tries < kMaxResolveTries && absl::IsAborted(ready.status()); ++tries) {
    absl::StatusOr<std::shared_ptr<Sandbox>> sandbox = Resolve(ref);
    if (absl::IsNotFound(sandbox.status()) && ref.principal) {
      CO_ASSIGN_OR_RETURN(const Label label, Label::Parse(ref.label));
      sandbox = FindOrMake(*ref.principal, label);
    }
    CO_RETURN_IF_ERROR(sandbox.status());
    ready = co_await (*sandbox)->ReadyForFiles();
  }
  co_return ready;
}

Async<SandboxNewFile> Manager::CreateFile(SandboxRef ref, RelPath path, NewFileSpec spec) {
  auto checking = CheckRoomToBegin(ref, path, spec);
  CO_RETURN_IF_ERROR(co_await std::move(checking));
  const bool of_upload = !spec.part.empty();
  CO_ASSIGN_OR_RETURN(const Arrival arrival, co_await MakeReadyForFiles(ref));
  CO_ASSIGN_OR_RETURN(const std::shared_ptr<Sandbox> sandbox, Resolve(ref));
  CO_ASSIGN_OR_RETURN(std::shared_ptr<PendingFile> file,
                      co_await context_.files.Create(sandbox->volume(), std::move(path),
                                                     spec.make_parents, std::move(spec.part)));
  const std::int64_t missing = of_upload ? MissingBytes(*file, spec.size) : 0;
  if (missing > 0) CO_RETURN_IF_ERROR(co_await CheckRoom(missing));
  co_return SandboxNewFile{.ref = std::move(ref),
                           .file = std::move(file),
                           .new_sandbox = arrival == Arrival::kNew,
                           .hold = sandbox->Hold()};
}

Async<SandboxTakenFile> Manager::CommitFile(SandboxNewFile file, TakeTerms terms) {
  CO_ASSIGN_OR_RETURN(const std::shared_ptr<Sandbox> sandbox, Resolve(file.ref));
  CO_ASSIGN_OR_RETURN(TakenFile taken,
                      co_await sandbox->CommitFile(std::move(file.file), std::move(terms)));
  co_return SandboxTakenFile{FileOf(*sandbox, std::move(taken.entry), UniqueFd()),
                             std::move(taken.folder)};
}

Async<std::int64_t> Manager::DeleteFile(SandboxRef ref, RelPath path, bool recursive) {
  CO_ASSIGN_OR_RETURN(const std::shared_ptr<Sandbox> sandbox, Resolve(ref));
  const absl::StatusOr<std::int64_t> removed =
      co_await context_.files.Delete(sandbox->volume(), std::move(path), recursive);
  // Some may have gone before it failed.
  const absl::Status told = co_await sandbox->FilesChanged();
  if (!told.ok()) Log(Severity::kWarning, "sandbox.touch_failed", {{"why", told}});
  co_return removed;
}

}  // namespace sandkeep
