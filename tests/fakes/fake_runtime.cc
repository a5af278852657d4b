#include "tests/fakes/fake_runtime.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>

#include <boost/asio/post.hpp>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <future>
#include <iterator>
#include <system_error>
#include <utility>

#include "agent/runtime/warm_binding.h"
#include "common/run_on.h"
#include "common/status_codes.h"
#include "common/status_macros.h"
#include "common/strings.h"
#include "tests/fakes/let_in.h"
#include "tests/fakes/patience.h"

namespace sandkeep {
namespace {

bool IsAlive(const InitProcess& init) {
  const UniqueFd pidfd = init.PidFd();
  pollfd ended{.fd = pidfd.get(), .events = POLLIN, .revents = 0};
  return ::poll(&ended, 1, 0) == 0;
}

std::string ReadFile(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// Children before their parent are signalled after it: a stopped parent makes no new ones.
void SignalTree(pid_t pid, int signal) {
  ::kill(pid, signal);
  std::ifstream children(StrCat("/proc/", pid, "/task/", pid, "/children"));
  for (pid_t child = 0; children >> child;) SignalTree(child, signal);
}

}  // namespace

FakeRuntime::FakeRuntime() {
  std::string pattern = (std::filesystem::temp_directory_path() / "fake-engine-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) std::abort();
  root_ = pattern;
  removed_ = root_ / ".removed";
  std::filesystem::create_directory(removed_);
  // Inits walk through it as another user.
  std::filesystem::permissions(root_, std::filesystem::perms::others_exec,
                               std::filesystem::perm_options::add);
}

FakeRuntime::~FakeRuntime() {
  engine_.stop();
  engine_.join();
  containers_.clear();
  std::error_code error;
  std::filesystem::remove_all(root_, error);
}

void FakeRuntime::Fail(EngineCall call, absl::Status status, int times) {
  const std::lock_guard lock(mutex_);
  scripts_[call].failure = std::move(status);
  scripts_[call].failures = times;
}

void FakeRuntime::FailAfterwards(EngineCall call, absl::Status status) {
  const std::lock_guard lock(mutex_);
  scripts_[call].afterwards = std::move(status);
}

void FakeRuntime::Heal() {
  const std::lock_guard lock(mutex_);
  for (auto& [call, script] : scripts_) {
    script.failures = 0;
    script.afterwards.reset();
  }
}

void FakeRuntime::Hold(EngineCall call) {
  const std::lock_guard lock(mutex_);
  scripts_[call].held = true;
}

void FakeRuntime::Release(EngineCall call) {
  std::vector<std::shared_ptr<Pending<bool>>> waiting;
  {
    const std::lock_guard lock(mutex_);
    scripts_[call].held = false;
    waiting.swap(scripts_[call].waiting);
  }
  for (const auto& waiter : waiting) waiter->Deliver(true);
}

void FakeRuntime::Abandon() {
  std::vector<EngineCall> held;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [call, script] : scripts_) held.push_back(call);
  }
  for (const EngineCall call : held) Release(call);
  std::promise<void> idle;
  boost::asio::post(engine_, [&idle] { idle.set_value(); });
  idle.get_future().wait();
}

void FakeRuntime::Kill(const EngineName& container) {
  const std::lock_guard lock(mutex_);
  const auto found = containers_.find(container);
  if (found != containers_.end()) found->second.init.reset();
}

void FakeRuntime::RemoveBehind(const EngineName& container) {
  const std::lock_guard lock(mutex_);
  containers_.erase(container);
}

void FakeRuntime::RemoveVolumeBehind(const EngineName& volume) {
  const std::lock_guard lock(mutex_);
  std::erase_if(containers_, [&](const auto& entry) { return entry.second.volume == volume; });
  std::error_code error;
  std::filesystem::remove_all(folder(volume), error);
}

void FakeRuntime::SetBinding(const EngineName& volume, std::string binding) {
  const std::lock_guard lock(mutex_);
  const std::filesystem::path path = folder(volume) / "binding";
  std::filesystem::remove(path);
  if (!binding.empty()) std::ofstream(path, std::ios::binary) << binding;
}

void FakeRuntime::Reboot() {
  const std::lock_guard lock(mutex_);
  for (auto& [name, container] : containers_) container.init.reset();
}

int FakeRuntime::calls(EngineCall call) const {
  const std::lock_guard lock(mutex_);
  const auto found = scripts_.find(call);
  return found == scripts_.end() ? 0 : found->second.calls;
}

bool FakeRuntime::WaitForCalls(EngineCall call, int count) const {
  std::unique_lock lock(mutex_);
  return called_.wait_for(lock, kTestPatience, [&] {
    const auto found = scripts_.find(call);
    return found != scripts_.end() && found->second.calls >= count;
  });
}

std::vector<EngineName> FakeRuntime::containers() const {
  const std::lock_guard lock(mutex_);
  std::vector<EngineName> names;
  for (const auto& [name, container] : containers_) names.push_back(name);
  return names;
}

std::string FakeRuntime::hostname(const EngineName& container) const {
  const std::lock_guard lock(mutex_);
  const auto found = containers_.find(container);
  return found == containers_.end() ? "" : found->second.hostname;
}

std::vector<EngineName> FakeRuntime::running() const {
  const std::lock_guard lock(mutex_);
  std::vector<EngineName> names;
  for (const ContainerRecord& record : ListHere().containers) {
    if (record.state == ContainerState::kRunning) names.push_back(record.name);
  }
  return names;
}

std::vector<EngineName> FakeRuntime::volumes() const {
  const std::lock_guard lock(mutex_);
  std::vector<EngineName> names;
  for (const VolumeRecord& record : ListHere().volumes) names.push_back(record.name);
  return names;
}

std::string FakeRuntime::binding(const EngineName& volume) const {
  const std::lock_guard lock(mutex_);
  return ReadFile(folder(volume) / "binding");
}

std::filesystem::path FakeRuntime::folder(const EngineName& volume) const {
  return root_ / volume.text();
}
std::filesystem::path FakeRuntime::data(const EngineName& volume) const {
  return folder(volume) / "_data";
}

std::shared_ptr<Pending<bool>> FakeRuntime::Count(EngineCall call) {
  const std::lock_guard lock(mutex_);
  Script& script = scripts_[call];
  ++script.calls;
  called_.notify_all();
  if (!script.held) return nullptr;
  return script.waiting.emplace_back(std::make_shared<Pending<bool>>());
}

absl::Status FakeRuntime::TakeFailure(EngineCall call) {
  const std::lock_guard lock(mutex_);
  Script& script = scripts_[call];
  if (script.failures == 0) return absl::OkStatus();
  --script.failures;
  return script.failure;
}

Async<void> FakeRuntime::Enter(EngineCall call) {
  if (const std::shared_ptr<Pending<bool>> held = Count(call)) co_await held->Take(false);
  co_return TakeFailure(call);
}

absl::Status FakeRuntime::Leave(EngineCall call, absl::Status done) {
  const std::lock_guard lock(mutex_);
  std::optional<absl::Status> failure = std::exchange(scripts_[call].afterwards, std::nullopt);
  return failure ? *std::move(failure) : std::move(done);
}

Async<EngineInfo> FakeRuntime::Probe() {
  CO_RETURN_IF_ERROR(co_await Enter(EngineCall::kProbe));
  EngineInfo info;
  info.engine = "fake";
  info.network = "none";
  co_return info;
}

Async<void> FakeRuntime::CreateVolume(EngineName volume, std::string binding) {
  CO_RETURN_IF_ERROR(co_await Enter(EngineCall::kCreateVolume));
  std::error_code error;
  std::filesystem::create_directories(data(volume), error);
  if (error) co_return ErrnoStatus(error.value(), "create the volume");
  SetBinding(volume, std::move(binding));
  co_return Leave(EngineCall::kCreateVolume, absl::OkStatus());
}

Async<void> FakeRuntime::BindVolume(EngineName volume, std::string binding) {
  CO_RETURN_IF_ERROR(co_await Enter(EngineCall::kBindVolume));
  if (!std::filesystem::exists(data(volume))) co_return absl::NotFoundError("no such volume");
  const std::string present = this->binding(volume);
  if (!present.empty() && present != kWarmBinding && present != binding) {
    co_return absl::FailedPreconditionError("the volume is bound already");
  }
  SetBinding(volume, std::move(binding));
  co_return Leave(EngineCall::kBindVolume, absl::OkStatus());
}

Async<UniqueFd> FakeRuntime::OpenVolume(EngineName volume) {
  CO_RETURN_IF_ERROR(co_await Enter(EngineCall::kOpenVolume));
  UniqueFd file(::open(data(volume).c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!file) co_return ErrnoStatus(errno, volume.text());
  co_return file;
}

std::filesystem::path FakeRuntime::layer(const EngineName& container) const {
  return root_ / "layers" / container.text() / "diff";
}

Async<UniqueFd> FakeRuntime::OpenLayer(EngineName container) {
  {
    const std::lock_guard lock(mutex_);
    if (!containers_.contains(container)) co_return absl::NotFoundError("no such container");
  }
  std::filesystem::create_directories(layer(container));
  UniqueFd file(::open(layer(container).parent_path().c_str(),
                       O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!file) co_return ErrnoStatus(errno, container.text());
  co_return file;
}

Async<RunningContainer> FakeRuntime::Start(EngineName container, EngineName volume,
                                           std::string hostname) {
  CO_RETURN_IF_ERROR(co_await Enter(EngineCall::kStart));
  auto start = [this, container, volume, hostname]() {
    const std::lock_guard lock(mutex_);
    return StartHere(container, volume, hostname);
  };
  CO_ASSIGN_OR_RETURN(RunningContainer running,
                      co_await RunOn(engine_.get_executor(), std::move(start)));
  CO_RETURN_IF_ERROR(Leave(EngineCall::kStart, absl::OkStatus()));
  co_return running;
}

absl::StatusOr<RunningContainer> FakeRuntime::StartHere(const EngineName& name,
                                                        const EngineName& volume,
                                                        const std::string& hostname) {
  if (!std::filesystem::exists(data(volume))) return absl::NotFoundError("no such volume");
  const auto entry = containers_.try_emplace(name, Container{volume, hostname, nullptr, false});
  Container& container = entry.first->second;
  if (container.init && IsAlive(*container.init)) return Running(name);
  InitProcess::Options options;
  options.workspace = data(container.volume);
  ASSIGN_OR_RETURN(container.init, InitProcess::Start(options));
  container.frozen = false;
  ASSIGN_OR_RETURN(RunningContainer running, Running(name));
  running.made_anew = entry.second;
  return running;
}

absl::StatusOr<RunningContainer> FakeRuntime::Running(const EngineName& name) const {
  const auto found = containers_.find(name);
  const bool runs = found != containers_.end() && found->second.init && !found->second.frozen &&
                    IsAlive(*found->second.init);
  if (!runs) return absl::NotFoundError("the container doesn't run");
  const InitProcess& init = *found->second.init;
  ASSIGN_OR_RETURN(UniqueFd channel, init.TakeChannel());
  return RunningContainer{.name = name,
                          .hostname = found->second.hostname,
                          .init_pid = init.pid(),
                          .init_pidfd = init.PidFd(),
                          .channel = std::move(channel),
                          .counts = {},
                          .is_frozen = [this, name] { return IsFrozen(name); }};
}

Async<RunningContainer> FakeRuntime::Attach(EngineName container) {
  CO_RETURN_IF_ERROR(co_await Enter(EngineCall::kAttach));
  auto attach = [this, container]() {
    const std::lock_guard lock(mutex_);
    return Running(container);
  };
  CO_ASSIGN_OR_RETURN(RunningContainer running,
                      co_await RunOn(engine_.get_executor(), std::move(attach)));
  CO_RETURN_IF_ERROR(Leave(EngineCall::kAttach, absl::OkStatus()));
  co_return running;
}

Async<void> FakeRuntime::Stop(EngineName container) {
  CO_RETURN_IF_ERROR(co_await Enter(EngineCall::kStop));
  Kill(container);
  co_return Leave(EngineCall::kStop, absl::OkStatus());
}

Async<void> FakeRuntime::Remove(EngineName container) {
  CO_RETURN_IF_ERROR(co_await Enter(EngineCall::kRemove));
  RemoveBehind(container);
  co_return Leave(EngineCall::kRemove, absl::OkStatus());
}

absl::Status FakeRuntime::SignalAll(const EngineName& name, int signal, bool frozen) {
  const std::lock_guard lock(mutex_);
  const auto found = containers_.find(name);
  if (found == containers_.end() || !found->second.init) {
    return absl::NotFoundError("the container doesn't run");
  }
  SignalTree(found->second.init->pid(), signal);
  found->second.frozen = frozen;
  return absl::OkStatus();
}

bool FakeRuntime::IsFrozen(const EngineName& name) const {
  const std::lock_guard lock(mutex_);
  const auto found = containers_.find(name);
  return found != containers_.end() && found->second.frozen;
}

Async<void> FakeRuntime::Freeze(EngineName container) {
  CO_RETURN_IF_ERROR(co_await Enter(EngineCall::kFreeze));
  co_return Leave(EngineCall::kFreeze, SignalAll(container, SIGSTOP, true));
}

Async<void> FakeRuntime::Thaw(EngineName container) {
  CO_RETURN_IF_ERROR(co_await Enter(EngineCall::kThaw));
  co_return Leave(EngineCall::kThaw, SignalAll(container, SIGCONT, false));
}

Async<EngineObjects> FakeRuntime::ListOurs() {
  CO_RETURN_IF_ERROR(co_await Enter(EngineCall::kListOurs));
  EngineObjects objects;
  {
    const std::lock_guard lock(mutex_);
    objects = ListHere();
  }
  CO_RETURN_IF_ERROR(Leave(EngineCall::kListOurs, absl::OkStatus()));
  co_return objects;
}

EngineObjects FakeRuntime::ListHere() const {
  EngineObjects objects;
  for (const auto& [name, container] : containers_) {
    const bool alive = container.init && IsAlive(*container.init);
    objects.containers.push_back({.name = name,
                                  .volume = container.volume,
                                  .state = !alive             ? ContainerState::kStopped
                                           : container.frozen ? ContainerState::kFrozen
                                                              : ContainerState::kRunning});
  }
  for (const auto& entry : std::filesystem::directory_iterator(root_)) {
    const auto name = EngineName::Parse(entry.path().filename().string());
    if (!name.ok()) continue;
    objects.volumes.push_back({.name = *name, .binding = ReadFile(entry.path() / "binding")});
  }
  return objects;
}

Async<void> FakeRuntime::RemoveVolume(EngineName volume) {
  CO_RETURN_IF_ERROR(co_await Enter(EngineCall::kRemoveVolume));
  co_return Leave(EngineCall::kRemoveVolume, RemoveVolumeHere(volume));
}

absl::Status FakeRuntime::RemoveVolumeHere(const EngineName& volume) {
  const std::lock_guard lock(mutex_);
  for (const auto& [name, container] : containers_) {
    if (container.volume == volume) return absl::FailedPreconditionError("the volume is in use");
  }
  std::error_code error;
  std::filesystem::rename(folder(volume), removed_ / volume.text(), error);
  if (error == std::errc::no_such_file_or_directory) return absl::OkStatus();
  return error ? ErrnoStatus(error.value(), "remove the volume") : absl::OkStatus();
}

Async<void> FakeRuntime::EmptyRemoved() {
  CO_RETURN_IF_ERROR(co_await Enter(EngineCall::kEmptyRemoved));
  co_return Leave(EngineCall::kEmptyRemoved, EmptyRemovedHere());
}

absl::Status FakeRuntime::EmptyRemovedHere() {
  const std::lock_guard lock(mutex_);
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(removed_)) {
    LetIn(entry.path());
    std::filesystem::remove_all(entry.path(), error);
    if (error) return ErrnoStatus(error.value(), "empty what was removed");
  }
  return absl::OkStatus();
}

void FakeRuntime::AddOldImage(OldImage image) {
  const std::lock_guard lock(mutex_);
  old_images_.push_back(std::move(image));
}

Async<std::vector<OldImage>> FakeRuntime::ListOldImages() {
  const std::lock_guard lock(mutex_);
  co_return old_images_;
}

Async<void> FakeRuntime::RemoveImage(std::string id) {
  const std::lock_guard lock(mutex_);
  std::erase_if(old_images_, [&id](const OldImage& image) { return image.id == id; });
  co_return absl::OkStatus();
}

}  // namespace sandkeep
