#include "agent/agent.h"

#include <grp.h>
#include <unistd.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/use_future.hpp>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "agent/file_process/file_process.h"
#include "agent/reserve.h"
#include "agent/runtime/cgroup.h"
#include "agent/runtime/delegation.h"
#include "agent/runtime/podman_runtime.h"
#include "agent/sandbox/host.h"
#include "agent/service/server.h"
#include "agent/state_dir.h"
#include "agent/store/store.h"
#include "common/async.h"
#include "common/clock.h"
#include "common/limits.h"
#include "common/log.h"
#include "common/notify.h"
#include "common/random.h"
#include "common/selinux_domain.h"
#include "common/status_macros.h"
#include "common/strings.h"
#include "common/this_process.h"
#include "common/watchdog.h"

namespace sandkeep {
namespace {

namespace asio = boost::asio;

// Both processes' users are in it; without it only our own user and root can connect.
constexpr const char* kSocketGroup = "sandkeep-api";

// From the unit, when it doesn't just start another agent: sandboxes don't outlive this one.
constexpr int kStopSandboxes = SIGUSR1;

// Async-signal-safe: the journal shall say it.
void EndNow(int) {
  constexpr std::string_view kLine = "warning agent.ended why=\"something didn't end in time\"\n";
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, kLine.data(), kLine.size());
  ::_exit(0);
}

std::optional<gid_t> SocketGroup() {
  const group* found = ::getgrnam(kSocketGroup);
  return found == nullptr ? std::nullopt : std::optional<gid_t>(found->gr_gid);
}

// The threads that run every strand. Joined at the end, after the last work is done.
class IoThreads {
 public:
  explicit IoThreads(asio::io_context& io) : io_(io), work_(io.get_executor()) {
    for (int i = 0; i < kAgentThreads; ++i) threads_.emplace_back([&io] { io.run(); });
  }
  ~IoThreads() {
    work_.reset();
    io_.stop();
    for (std::thread& thread : threads_) thread.join();
  }

 private:
  asio::io_context& io_;
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  std::vector<std::thread> threads_;
};

// Waits, on the main thread, for something that runs on the others.
absl::Status Await(asio::io_context& io, Async<void> coroutine) {
  return asio::co_spawn(io, std::move(coroutine), asio::use_future).get();
}

// The first signal, whenever it comes once the threads run: also while what is recovered keeps the
// main thread waiting. What waits for a hanging engine then isn't waited for: to die at any moment
// is what records are written for. A later SIGTERM leaves a stop that is under way no more time
// than any end has.
class EndSignal {
 public:
  explicit EndSignal(asio::io_context& io) : signals_(io, SIGTERM, SIGINT, kStopSandboxes) {
    std::signal(SIGALRM, EndNow);
    Listen();
  }

  int Wait() { return caught_.get_future().get(); }

 private:
  void Listen() {
    signals_.async_wait([this](const boost::system::error_code& error, int signal) {
      if (error) return;
      Take(signal);
      Listen();
    });
  }

  void Take(int signal) {
    const bool stops = signal == kStopSandboxes;
    // Neither a second SIGTERM nor a late stop gives it more time.
    if (!ending_) ::alarm(stops ? kStopAllSeconds : kEndSeconds);
    ending_ = ending_ || !stops;
    if (!std::exchange(heard_, true)) caught_.set_value(signal);
  }

  asio::signal_set signals_;
  std::promise<int> caught_;
  bool heard_ = false;
  bool ending_ = false;
};

// Without one sandboxes run all the same, and GetInfo says what doesn't land.
PodmanOptions WithCgroup(PodmanOptions options) {
  absl::StatusOr<std::string> parent =
      TakeDelegatedCgroup(std::string(kCgroupRoot), "/proc/self/cgroup");
  if (parent.ok()) {
    options.cgroup_parent = *std::move(parent);
  } else {
    Log(Severity::kWarning, "agent.no_cgroup", {{"why", parent.status()}});
  }
  return options;
}

absl::StatusOr<ManagerLimits> LimitsFor(const StateDir& state, ManagerLimits limits) {
  if (limits.principal_disk_bytes != kPrincipalDiskUnset) return limits;
  ASSIGN_OR_RETURN(const HostReading host, ReadHostFrom(state.path()));
  // Sandboxes of an agent that had no such limit may have filled the disk already.
  const bool upgraded = std::filesystem::exists(StrCat(state.path(), "/agent.db"));
  ASSIGN_OR_RETURN(limits.principal_disk_bytes,
                   FirstPrincipalDisk(state.path(), upgraded ? host.disk_total : host.disk_free));
  return limits;
}

// A broken engine is no reason not to serve, nor is one that hangs: calls answer what is wrong, and
// the manager goes on, or tries again, by itself.
void AwaitRecovery(std::future<absl::Status>& recovering) {
  if (recovering.wait_for(kStockPatience) != std::future_status::ready) {
    Log(Severity::kWarning, "agent.recover", {{"why", "the engine hasn't answered yet"}});
    return;
  }
  recovering.get().IgnoreError();  // It says why.
}

void StopOrSay(asio::io_context& io, SandboxManager& manager) {
  const absl::Status stopped = Await(io, manager.StopAll());
  if (!stopped.ok()) Log(Severity::kError, "agent.stop", {{"why", stopped}});
}

}  // namespace

absl::Status RunAgent(const AgentSettings& settings) {
  // It holds the secret that keys are made with, and podman and its helpers are of its own user.
  RETURN_IF_ERROR(HideMemory());
  ReportSelinuxDomain("sandkeep_agent_t");
  RaiseDescriptorLimit();
  ASSIGN_OR_RETURN(const StateDir state, StateDir::Open(settings.state_dir));
  ASSIGN_OR_RETURN(const InstanceId instance, state.Instance(SystemRandom()));
  RETURN_IF_ERROR(CheckRunRoot(state.path(), settings.podman(instance).runtime_dir));

  ASSIGN_OR_RETURN(const ManagerLimits limits, LimitsFor(state, settings.limits));

  const ReserveKeeper reserve(state.path(), limits.min_free_bytes);
  asio::io_context io(kAgentThreads);
  EndSignal end(io);
  ASSIGN_OR_RETURN(const std::unique_ptr<Store> store, OpenStore(state.path()));
  const std::unique_ptr<ContainerRuntime> runtime =
      MakePodmanRuntime(io.get_executor(), WithCgroup(settings.podman(instance)));
  FileProcessOptions files_options;
  files_options.program = settings.files_path;
  const std::unique_ptr<FileProcess> files =
      MakeFileProcess(io.get_executor(), std::move(files_options),
                      [&runtime](EngineName name) { return OpenTree(*runtime, std::move(name)); });
  ASSIGN_OR_RETURN(const std::unique_ptr<SandboxManager> manager,
                   MakeSandboxManager(io.get_executor(), *runtime, *files, *store, SystemClock(),
                                      SystemRandom(), limits, state.path()));

  const IoThreads threads(io);
  std::future<absl::Status> recovering = asio::co_spawn(io, manager->Recover(), asio::use_future);
  AwaitRecovery(recovering);
  ServerOptions options;
  options.socket_path = settings.socket_path;
  options.socket_group = SocketGroup();
  options.peers = settings.peers;
  options.imager_path = settings.imager_path;
  HostFacts facts = settings.facts(instance);
  facts.principal_disk_bytes = limits.principal_disk_bytes;
  absl::StatusOr<std::unique_ptr<AgentServer>> started =
      StartAgentServer(io.get_executor(), *manager, std::move(facts), std::move(options));
  if (!started.ok() && recovering.valid()) {
    // What still asks the engine uses all that a return would destroy, and may hang for long.
    Log(Severity::kError, "agent.not_served", {{"why", started.status()}});
    std::_Exit(EXIT_FAILURE);
  }
  ASSIGN_OR_RETURN(std::unique_ptr<AgentServer> server, std::move(started));
  Log(Severity::kInfo, "agent.listening",
      {{"socket", settings.socket_path}, {"version", SANDKEEP_VERSION}});
  if (const absl::Status told = Notify("READY=1"); !told.ok()) {
    Log(Severity::kWarning, "agent.notify", {{"why", told}});
  }
  Spawn(io.get_executor(), "watchdog", FeedWatchdog());

  const int signal = end.Wait();
  Log(Severity::kInfo, "agent.stopping", {{"signal", signal}});
  Notify("STOPPING=1").IgnoreError();
  const bool stops = signal == kStopSandboxes;
  // Of what isn't known yet nothing would be stopped. The alarm bounds it.
  if (stops && recovering.valid()) recovering.wait();
  // Before calls that are open are waited for, since some of them wait for the engine; and behind
  // them, since one may have started a sandbox.
  if (stops) StopOrSay(io, *manager);
  server.reset();
  if (stops) StopOrSay(io, *manager);
  // What still asks the engine uses all that is about to go. The alarm bounds it.
  if (recovering.valid()) recovering.wait();
  Log(Severity::kInfo, "agent.stopped");
  // Sandboxes run on, or are stopped; the next agent takes them over from where the records stand.
  return absl::OkStatus();
}

}  // namespace sandkeep
