#include "agent/runtime/podman_output.h"

#include <boost/json.hpp>
#include <charconv>
#include <limits>

#include "agent/runtime/podman_command.h"
#include "common/limits.h"
#include "common/status_macros.h"
#include "common/strings.h"

namespace sandkeep {
namespace {

namespace json = boost::json;

absl::Status Unexpected(std::string_view what) {
  return absl::DataLossError(StrCat("podman's output: ", what));
}

absl::StatusOr<json::value> ParseJson(std::string_view text) {
  if (text.size() > kMaxEngineOutputBytes) return Unexpected("too long");
  json::parse_options options;
  options.max_depth = kMaxEngineJsonDepth;
  boost::system::error_code error;
  json::value value = json::parse(json::string_view(text.data(), text.size()), error, {}, options);
  if (error) return Unexpected("not JSON");
  return value;
}

// A list of objects. Some versions print nothing, or null, for an empty one.
absl::StatusOr<json::array> ParseList(std::string_view text) {
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) return json::array();
  ASSIGN_OR_RETURN(const json::value value, ParseJson(text));
  if (value.is_null()) return json::array();
  if (!value.is_array()) return Unexpected("not a list");
  for (const json::value& item : value.get_array()) {
    if (!item.is_object()) return Unexpected("not a list of objects");
  }
  return value.get_array();
}

// Null: there is no such member, or it is of another type.
const json::object* ObjectIn(const json::object& object, std::string_view name) {
  const json::value* value = object.if_contains(name);
  return value != nullptr ? value->if_object() : nullptr;
}

std::optional<std::string_view> TextIn(const json::object& object, std::string_view name) {
  const json::value* value = object.if_contains(name);
  const json::string* text = value != nullptr ? value->if_string() : nullptr;
  if (text == nullptr) return std::nullopt;
  return std::string_view(text->data(), text->size());
}

// 0: none, or not a pid.
bool IsImageId(std::string_view id) {
  constexpr std::size_t kIdDigits = 64;
  return id.size() == kIdDigits &&
         id.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

pid_t PidIn(const json::object& object) {
  const json::value* value = object.if_contains("Pid");
  const std::int64_t* pid = value != nullptr ? value->if_int64() : nullptr;
  if (pid == nullptr || *pid < 0 || *pid > std::numeric_limits<pid_t>::max()) return 0;
  return static_cast<pid_t>(*pid);
}

std::optional<std::string_view> LabelIn(const json::object& object, std::string_view name) {
  const json::object* labels = ObjectIn(object, "Labels");
  return labels != nullptr ? TextIn(*labels, name) : std::nullopt;
}

bool IsOurs(const json::object& object, const InstanceId& instance) {
  return LabelIn(object, kInstanceLabel) == std::string_view(instance.hex());
}

bool NeverRan(std::optional<std::string_view> text) {
  return text == "created" || text == "configured" || text == "initialized";
}

bool BetweenStates(std::optional<std::string_view> text) {
  return text == "stopping" || text == "removing";
}

ContainerState StateOf(std::optional<std::string_view> text) {
  if (text == "running") return ContainerState::kRunning;
  if (text == "paused") return ContainerState::kFrozen;
  // One that is being stopped will be: what is in it isn't given up for that.
  if (NeverRan(text) || text == "exited" || text == "stopped" || text == "stopping") {
    return ContainerState::kStopped;
  }
  return ContainerState::kUnknown;
}

absl::StatusOr<std::string_view> OneName(const json::object& object) {
  const json::value* names = object.if_contains("Names");
  const json::array* list = names != nullptr ? names->if_array() : nullptr;
  if (list == nullptr || list->size() != 1 || !list->front().is_string()) {
    return Unexpected("a container without a name");
  }
  const json::string& name = list->front().get_string();
  return std::string_view(name.data(), name.size());
}

absl::StatusOr<int> NumberBefore(std::string_view& text, char end) {
  int number = 0;
  const auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number < 0) return Unexpected("no version");
  text.remove_prefix(static_cast<std::size_t>(at - text.data()));
  if (end != '\0' && (text.empty() || text.front() != end)) return Unexpected("no version");
  if (!text.empty()) text.remove_prefix(1);
  return number;
}

}  // namespace

absl::StatusOr<std::vector<ListedContainer>> ParseContainers(std::string_view text,
                                                             const InstanceId& instance) {
  ASSIGN_OR_RETURN(const json::array list, ParseList(text));
  std::vector<ListedContainer> containers;
  for (const json::value& item : list) {
    const json::object& object = item.get_object();
    if (!IsOurs(object, instance)) continue;
    ASSIGN_OR_RETURN(const std::string_view name_text, OneName(object));
    const auto name = EngineName::Parse(name_text);
    const auto volume = EngineName::Parse(LabelIn(object, kVolumeLabel).value_or(""));
    if (!name.ok() || !volume.ok()) continue;
    const ContainerState state = StateOf(TextIn(object, "State"));
    const pid_t pid = state == ContainerState::kRunning ? PidIn(object) : 0;
    containers.push_back({.record = {*name, *volume, state}, .init_pid = pid});
  }
  return containers;
}

absl::StatusOr<std::vector<ListedVolume>> ParseVolumes(std::string_view text,
                                                       const InstanceId& instance) {
  ASSIGN_OR_RETURN(const json::array list, ParseList(text));
  std::vector<ListedVolume> volumes;
  for (const json::value& item : list) {
    const json::object& object = item.get_object();
    if (!IsOurs(object, instance)) continue;
    const auto name = EngineName::Parse(TextIn(object, "Name").value_or(""));
    if (!name.ok()) continue;
    const std::string mountpoint(TextIn(object, "Mountpoint").value_or(""));
    if (mountpoint.empty() || mountpoint.front() != '/') {
      return Unexpected("a volume without a mount point");
    }
    volumes.push_back({*name, mountpoint});
  }
  return volumes;
}

absl::StatusOr<std::vector<OldImage>> ParseOldImages(std::string_view text,
                                                     std::string_view in_use) {
  ASSIGN_OR_RETURN(const json::array list, ParseList(text));
  std::vector<OldImage> images;
  for (const json::value& item : list) {
    const json::object& object = item.get_object();
    const std::string_view id = TextIn(object, "Id").value_or("");
    const json::value* const containers = object.if_contains("Containers");
    const json::value* const size = object.if_contains("Size");
    // What isn't said to be unused is kept.
    const bool unused = containers != nullptr && containers->is_int64() &&
                        containers->get_int64() == 0 && IsImageId(id);
    const bool configured = !in_use.empty() && id.substr(0, in_use.size()) == in_use;
    if (!unused || configured) continue;
    images.push_back(
        {std::string(id), size != nullptr && size->is_int64() ? size->get_int64() : 0});
  }
  return images;
}

absl::StatusOr<InspectedContainer> ParseInspect(std::string_view text, const InstanceId& instance) {
  ASSIGN_OR_RETURN(const json::array list, ParseList(text));
  if (list.empty()) return absl::NotFoundError("no such container");
  if (list.size() != 1) return Unexpected("several containers of one name");
  const json::object& object = list.front().get_object();
  const json::object* state = ObjectIn(object, "State");
  const json::object* config = ObjectIn(object, "Config");
  if (state == nullptr || config == nullptr) return Unexpected("a container without its state");
  InspectedContainer container;
  container.state = StateOf(TextIn(*state, "Status"));
  container.never_ran = NeverRan(TextIn(*state, "Status"));
  container.between_states = BetweenStates(TextIn(*state, "Status"));
  if (container.state == ContainerState::kRunning || container.state == ContainerState::kFrozen) {
    container.init_pid = PidIn(*state);
  }
  container.hostname = std::string(TextIn(*config, "Hostname").value_or(""));
  container.ours = IsOurs(*config, instance);
  return container;
}

absl::StatusOr<EngineVersion> ParseVersion(std::string_view text) {
  ASSIGN_OR_RETURN(const json::value value, ParseJson(text));
  const json::object* object = value.if_object();
  const json::object* client = object != nullptr ? ObjectIn(*object, "Client") : nullptr;
  if (client == nullptr) return Unexpected("no version");
  std::string_view rest = TextIn(*client, "Version").value_or("");
  EngineVersion version;
  version.text = std::string(rest.substr(0, kMaxComplaintBytes));
  ASSIGN_OR_RETURN(version.major, NumberBefore(rest, '.'));
  ASSIGN_OR_RETURN(version.minor, NumberBefore(rest, '\0'));
  return version;
}

}  // namespace sandkeep
