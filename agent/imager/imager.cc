#include "agent/imager/imager.h"

#include <utility>

#include "agent/imager/fair_gate.h"
#include "agent/runtime/process.h"
#include "common/limits.h"
#include "common/log.h"
#include "common/status_macros.h"
#include "common/strings.h"

namespace sandkeep {
namespace {

absl::Status Damaged() {
  return absl::InvalidArgumentError("it is damaged, or not what it says it is");
}

// What it is worth the model's knowing; the log has the rest.
absl::Status Refusal(const ProcessResult& result) {
  if (result.exit_code == kImagerDamaged) return Damaged();
  if (result.exit_code == kImagerFailed) return absl::UnavailableError("it can't be looked at now");
  // Its bounds of memory or of time, if nothing worse.
  return absl::ResourceExhaustedError("it takes too much to look at");
}

}  // namespace

Imager::Imager(std::string program)
    : program_(std::move(program)),
      gate_(std::make_shared<FairGate>(kMaxImagers, kMaxWaitingPictures)) {}

Imager::~Imager() = default;

Async<RenderedImage> Imager::Render(std::string whose, UniqueFd file, ImageBounds bounds) {
  const auto input = std::make_shared<const UniqueFd>(std::move(file));
  auto waiting = FairGate::Take(gate_, std::move(whose));
  CO_ASSIGN_OR_RETURN(const FairGate::Turn turn, co_await std::move(waiting));
  ProcessCommand command;
  command.program = program_;
  command.arguments = {StrCat(bounds.max_px), StrCat(bounds.max_bytes)};
  auto running = RunProcess(std::move(command), kImagerDeadline, input);
  absl::StatusOr<ProcessResult> result = co_await std::move(running);
  if (!result.ok()) {
    Log(Severity::kError, "imager.failed", {{"why", result.status()}});
    co_return absl::UnavailableError("it can't be looked at now");
  }
  if (!result->succeeded() || result->truncated) {
    Log(Severity::kInfo, "imager.refused", {{"result", result->Summary()}});
    co_return Refusal(*result);
  }
  auto image = Unpack(std::move(result->standard_output), bounds);
  if (image.ok()) co_return image;
  Log(Severity::kWarning, "imager.distrusted", {{"why", image.status()}});
  co_return Damaged();
}

}  // namespace sandkeep
