// The calls that gRPC still works on, so that a client can be destroyed: it cancels them and waits
// until gRPC's threads have let go of them. Their callbacks only post, so that takes microseconds.
// Thread-safe.
#pragma once

#include <condition_variable>
#include <mutex>
#include <unordered_set>

namespace sandkeep {

class InFlight {
 public:
  class Call {
   public:
    virtual ~Call() = default;
    // Never waits, never calls back into InFlight on the same thread.
    virtual void Cancel() = 0;
  };

  // False: the client is going; don't start the call.
  [[nodiscard]] bool Add(Call* call);
  // The last thing that a call's final callback does.
  void Remove(Call* call);
  void CancelAllAndWait();

 private:
  std::mutex mutex_;
  std::condition_variable empty_;
  std::unordered_set<Call*> calls_;
  bool closed_ = false;
};

}  // namespace sandkeep
