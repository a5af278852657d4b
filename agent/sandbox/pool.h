// The pool (SANDBOX_WARM): started containers with a fresh volume each, all under random names and
// nobody's yet. A new label takes one, and its first command needn't wait for the engine.
//
// Each is recorded before it is made; until one is claimed nothing has run in it, so an agent that
// starts removes what an earlier one left. The volume bears kWarmBinding until the binding of its
// sandbox stands there, before the first command. They take no place of SANDBOX_MAX.
//
// Claim and Return at once, from any thread; filling goes on by itself on the executor.
#pragma once

#include <atomic>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/strand.hpp>
#include <functional>
#include <mutex>
#include <optional>
#include <vector>

#include "agent/runtime/container_runtime.h"
#include "agent/runtime/warm_binding.h"
#include "agent/store/store.h"
#include "common/random.h"

namespace sandkeep {

struct WarmContainer {
  EngineName volume;
  RunningContainer running;
};

class Pool {
 public:
  // `may_fill`: the machine has room for one more.
  Pool(boost::asio::any_io_executor executor, ContainerRuntime& runtime, Store& store,
       Random& random, int size, std::function<Async<bool>()> may_fill);

  // Nothing: none is ready.
  std::optional<WarmContainer> Claim();
  // It wasn't used after all.
  void Return(WarmContainer container);
  // Until there are `size`; called whenever one may be missing, from when the engine is known to
  // answer.
  void Fill();
  int ready() const;
  // None is ready any more, nor made; what there was is removed.
  boost::asio::awaitable<void> Close();

 private:
  boost::asio::awaitable<void> FillHere();
  Async<void> AddOne();
  boost::asio::awaitable<void> Drop(WarmRow row);
  bool IsFull() const;

  const boost::asio::strand<boost::asio::any_io_executor> strand_;
  ContainerRuntime& runtime_;
  Store& store_;
  Random& random_;
  std::atomic<int> size_;
  const std::function<Async<bool>()> may_fill_;

  mutable std::mutex mutex_;
  std::vector<WarmContainer> ready_;
  bool filling_ = false;
};

}  // namespace sandkeep
