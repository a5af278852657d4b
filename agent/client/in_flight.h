// The calls that gRPC still works on, so that a client can be destroyed: it cancels them and waits
// until gRPC's threads have let go of them. Their callbacks only post, so that takes microseconds.
//
// That wait matters: a call's context keeps its channel, and the last owner of a channel must never
// be one of gRPC's own threads (1.51 would join that thread with itself and go on with a deleted
// queue). Thread-safe.
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
  // From the call's final callback: it is cancelled no more, and may be destroyed.
  void Remove(Call* call);
  // The last thing that the final callback does, when it has let go of the call.
  void Done();
  void CancelAllAndWait();

 private:
  std::mutex mutex_;
  std::condition_variable idle_;
  std::unordered_set<Call*> calls_;
  int running_ = 0;
  bool closed_ = false;
};

}  // namespace sandkeep
