// One file that a caller writes: beside its target until all of it is there and on the disk, then
// in its place. An upload may come in several calls, each beginning where the last one stopped.
// Coroutine by coroutine of one call.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "agent/sandbox/sandbox_manager.h"
#include "agent/service/file_services.h"
#include "agent/service/validate.h"
#include "common/async.h"
#include "common/part_name.h"

namespace sandkeep {

class FileWrite {
 public:
  // All outlive it.
  FileWrite(SandboxManager& manager, FileServices files, WriteFileCall call)
      : manager_(manager), disk_(files.disk), placed_(files.placed), call_(std::move(call)) {}

  // Aborted, AlreadyExists, NotFound: what `if_etag` asks for isn't so.
  Async<void> Begin();
  // An upload goes on elsewhere than the caller thinks: it is to be told received().
  bool IsElsewhere() const { return elsewhere_; }
  bool TakesData() const { return !call_.abandon && !elsewhere_; }
  // InvalidArgument: more than was announced.
  Async<void> Take(std::string data);
  // The file in its place; nullopt: of an upload more is to come. InvalidArgument: less than was
  // announced. NotFound: there is nothing to abandon.
  Async<std::optional<SandboxFile>> Finish();

  std::int64_t received() const { return at_; }
  bool created() const { return !target_.has_value(); }
  bool new_sandbox() const { return file_.new_sandbox; }

 private:
  Async<void> BeginAppend();
  Async<void> Abandon();
  absl::Status CheckTarget() const;
  // Of an upload: where its bytes lie until it is whole.
  std::string Part() const { return PartPath(call_.path.bytes(), call_.upload); }
  void ForgetPlaced();
  FileDisk::File File() const { return {file_.file, &file_.file->file()}; }

  SandboxManager& manager_;
  FileDisk& disk_;
  PlacedParts& placed_;
  const WriteFileCall call_;
  std::optional<SandboxFile> before_;  // What is appended to.
  std::optional<FileEntry> target_;
  SandboxNewFile file_;
  bool elsewhere_ = false;
  std::int64_t at_ = 0;
  std::int64_t end_ = 0;
};

}  // namespace sandkeep
