#include "agent/client/single_poller.h"

#include <grpc/support/cpu.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <utility>

#include "agent/client/grpc_setup.h"

namespace sandkeep {
namespace {

// The one whose threads are known: half as many as there are processors, within these bounds.
constexpr std::string_view kKnownVersion = "1.51.";
constexpr unsigned kFewestThreads = 2;
constexpr unsigned kMostThreads = 16;

// Well within the second after which a thread looks away.
constexpr std::chrono::milliseconds kPulse{700};

unsigned ThreadsToHold() {
  if (grpc::Version().rfind(kKnownVersion, 0) != 0) return 0;
  return std::clamp(gpr_cpu_num_cores() / 2, kFewestThreads, kMostThreads) - 1;
}

// A call and what gRPC works on meanwhile.
struct Event {
  grpc::ClientContext context;
  const grpc::Slice nothing;
  const grpc::ByteBuffer request{&nothing, 1};
  grpc::ByteBuffer response;
};

}  // namespace

class SinglePoller {
 public:
  SinglePoller() {
    SetUpGrpc();
    const unsigned count = ThreadsToHold();
    for (unsigned i = 0; i < count; ++i) {
      MakeEvent([this, pulse = i == 0] { Stay(pulse); });
    }
  }
  SinglePoller(const SinglePoller&) = delete;
  SinglePoller& operator=(const SinglePoller&) = delete;
  ~SinglePoller() {
    std::unique_lock lock(mutex_);
    ending_ = true;
    changed_.notify_all();
    changed_.wait(lock, [this] { return events_ == 0; });
  }

 private:
  // A call that fails at once, on a channel to nowhere: gRPC's own way to be called back by one of
  // its threads.
  void MakeEvent(std::function<void()> on_thread) {
    {
      const std::lock_guard lock(mutex_);
      ++events_;
    }
    auto event = std::make_shared<Event>();
    auto serve = [this, event, run = std::move(on_thread)](const grpc::Status&) mutable {
      run();
      // It holds the channel, which none of gRPC's threads may be the last to let go.
      event.reset();
      const std::lock_guard lock(mutex_);
      // Under the lock: who ends us goes on as soon as it sees that nothing is left.
      if (--events_ == 0) changed_.notify_all();
    };
    nowhere_.UnaryCall(&event->context, "/nowhere/nothing", {}, &event->request, &event->response,
                       std::move(serve));
  }

  // The only callback that may last.
  void Stay(bool pulse) {
    const auto ending = [this] { return ending_; };
    std::unique_lock lock(mutex_);
    if (!pulse) return changed_.wait(lock, ending);
    while (!changed_.wait_for(lock, kPulse, ending)) {
      lock.unlock();
      MakeEvent([] {});
      lock.lock();
    }
  }

  std::mutex mutex_;  // Guards what stands below it.
  std::condition_variable changed_;
  bool ending_ = false;
  int events_ = 0;

  grpc::GenericStub nowhere_{grpc::CreateChannel("", nullptr)};
};

std::shared_ptr<const SinglePoller> HoldSinglePoller() {
  static std::mutex mutex;
  static std::weak_ptr<const SinglePoller> held;
  const std::lock_guard lock(mutex);
  std::shared_ptr<const SinglePoller> poller = held.lock();
  if (poller == nullptr) held = poller = std::make_shared<const SinglePoller>();
  return poller;
}

}  // namespace sandkeep
