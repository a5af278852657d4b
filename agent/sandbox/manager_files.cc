// Files of a sandbox, whose container need not run: through the file process, and what a sandbox
// has to know of it.

#include <sys/stat.h>

#include <algorithm>
#include <utility>

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

Async<DiskRoom::Claim> Manager::ClaimRoom(std::int64_t size) {
  auto take = [this, size] { return room_.Take(size); };
  CO_ASSIGN_OR_RETURN(DiskRoom::Claim claim, co_await RunOn(context_.disk, std::move(take)));
  if (claim != nullptr) co_return claim;
  co_return absl::ResourceExhaustedError(
      "the host's disk is nearly full, and takes no more files: remove some, or tell whoever runs "
      "this host");
}

Async<DiskRoom::Claim> Manager::ClaimRoomToBegin(SandboxRef ref, RelPath path, NewFileSpec spec) {
  absl::StatusOr<DiskRoom::Claim> room = co_await ClaimRoom(spec.size);
  const absl::Status share = MayGrow(ref, spec.size);
  if (room.ok() && !share.ok()) room = share;
  if (room.ok() || spec.part.empty()) co_return room;
  // An upload that has begun has its room.
  CO_ASSIGN_OR_RETURN(RelPath part, RelPath::Parse(PartPath(path.bytes(), spec.part)));
  auto looking = StatFile(std::move(ref), std::move(part));
  const absl::Status begun = (co_await std::move(looking)).status();
  if (!begun.ok()) co_return room;
  co_return DiskRoom::Claim();
}

// Within the share of who asks, and of the sandbox if there is one.
absl::Status Manager::MayGrow(const SandboxRef& ref, std::int64_t by) const {
  const absl::StatusOr<std::shared_ptr<Sandbox>> sandbox = Resolve(ref);
  if (sandbox.ok()) return MayGrow(**sandbox, by);
  return ref.principal ? MayGrow(*ref.principal, by) : absl::OkStatus();
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
  auto claiming = ClaimRoomToBegin(ref, path, spec);
  CO_ASSIGN_OR_RETURN(DiskRoom::Claim room, co_await std::move(claiming));
  const bool of_upload = !spec.part.empty();
  CO_ASSIGN_OR_RETURN(const Arrival arrival, co_await MakeReadyForFiles(ref));
  CO_ASSIGN_OR_RETURN(const std::shared_ptr<Sandbox> sandbox, Resolve(ref));
  CO_ASSIGN_OR_RETURN(std::shared_ptr<PendingFile> file,
                      co_await context_.files.Create(sandbox->volume(), std::move(path),
                                                     spec.make_parents, std::move(spec.part)));
  if (of_upload) {
    room.reset();
    const std::int64_t missing = MissingBytes(*file, spec.size);
    if (missing > 0) {
      CO_ASSIGN_OR_RETURN(room, co_await ClaimRoom(missing));
    }
  }
  co_return SandboxNewFile{.ref = std::move(ref),
                           .file = std::move(file),
                           .new_sandbox = arrival == Arrival::kNew,
                           .room = std::move(room),
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
