#include "agent/runtime/podman_probe.h"

#include <unistd.h>

#include "agent/runtime/subordinate_ids.h"
#include "common/status_macros.h"
#include "common/strings.h"

namespace sandkeep {
namespace {

std::string NameOf(NetworkHelper helper) {
  switch (helper) {
    case NetworkHelper::kPasta:
      return "pasta";
    case NetworkHelper::kSlirp4netns:
      return "slirp4netns";
    case NetworkHelper::kNone:
      break;
  }
  return "none";
}

Async<std::vector<std::string>> Problems(PodmanEngine& engine) {
  const PodmanOptions& options = engine.options();
  std::vector<std::string> problems;
  const auto note = [&problems](const absl::Status& status) {
    if (!status.ok()) problems.emplace_back(ToStd(status.message()));
  };
  const auto image = co_await engine.podman().Exists("image", options.image);
  note(image.status());
  if (image.ok() && !*image) {
    problems.push_back(
        StrCat("the image ", options.image, " is missing: run deploy/image/build.sh"));
  }
  note((co_await engine.Network()).status());
  note(OwnSubordinateIds("/etc/subuid").status());
  note(OwnSubordinateIds("/etc/subgid").status());
  if (::access(options.init_path.c_str(), X_OK) != 0) {
    problems.push_back(StrCat("sandkeep-init isn't at ", options.init_path, ": set INIT_PATH"));
  }
  co_return problems;
}

}  // namespace

Async<EngineInfo> ProbeEngine(PodmanEngine& engine) {
  EngineInfo info;
  const CgroupSupport cgroup = engine.Limits().cgroup;
  // Where the host has it and gives us nothing of it, limits land as little as without.
  info.cgroup_v2 = cgroup.memory && cgroup.cpu && cgroup.pids;
  const auto version = co_await engine.Version();
  if (!version.ok()) {
    info.problems.emplace_back(ToStd(version.status().message()));
    co_return info;
  }
  info.engine = StrCat("podman ", version->text);
  CO_ASSIGN_OR_RETURN(info.problems, co_await Problems(engine));
  const auto network = co_await engine.Network();
  if (network.ok()) {
    info.network = NameOf(*network);
  }
  co_return info;
}

}  // namespace sandkeep
