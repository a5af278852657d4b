// A value that one thread delivers and a coroutine on another awaits: the way from gRPC's threads,
// or a test's, into a coroutine. Nothing here blocks.
//
// Held by shared_ptr from both sides. Deliver may come from any thread, before or after Take; the
// coroutine always resumes by a post to its own executor, which Pending keeps busy while it waits.
// One value and one waiter at a time. Cancelling the waiter resumes it at once with a value of its
// choice; what is delivered later waits for the next Take.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

namespace sandkeep {

template <typename T>
class Pending : public std::enable_shared_from_this<Pending<T>> {
 public:
  // A second value before the first was taken replaces it.
  void Deliver(T value) {
    Resume resume;
    {
      const std::lock_guard lock(mutex_);
      if (!resume_) {
        value_.emplace(std::move(value));
        return;
      }
      resume = std::exchange(resume_, nullptr);
    }
    resume(std::move(value));
  }

  // Waits for the value whatever happens to the coroutine: the one who delivers it will.
  boost::asio::awaitable<T> TakeSurely() {
    auto initiate = [self = this->shared_from_this()](auto handler) {
      self->Await(self->ResumeOf(std::make_shared<decltype(handler)>(std::move(handler))));
    };
    return boost::asio::async_initiate<const boost::asio::use_awaitable_t<>, void(T)>(
        std::move(initiate), boost::asio::use_awaitable);
  }

  // `on_cancel` is called on the coroutine's executor when the wait is cancelled before a value
  // came. A plain function on purpose: g++ 12 destroys closures of a co_await expression twice.
  boost::asio::awaitable<T> Take(T if_cancelled, std::function<void()> on_cancel = {}) {
    auto initiate = [self = this->shared_from_this(), if_cancelled = std::move(if_cancelled),
                     on_cancel = std::move(on_cancel)](auto handler) mutable {
      self->Start(std::move(handler), std::move(if_cancelled), std::move(on_cancel));
    };
    return boost::asio::async_initiate<const boost::asio::use_awaitable_t<>, void(T)>(
        std::move(initiate), boost::asio::use_awaitable);
  }

  bool waited_for() const {
    const std::lock_guard lock(mutex_);
    return resume_ != nullptr;
  }

 private:
  using Resume = std::function<void(T)>;

  template <typename Handler>
  void Start(Handler handler, T if_cancelled, std::function<void()> on_cancel) {
    auto slot = boost::asio::get_associated_cancellation_slot(handler);
    // Assigned first: once the value may arrive, this thread has nothing left to do here.
    if (slot.is_connected()) {
      slot.assign([weak = this->weak_from_this(), if_cancelled = std::move(if_cancelled),
                   on_cancel = std::move(on_cancel)](boost::asio::cancellation_type) mutable {
        if (auto self = weak.lock()) self->Cancel(std::move(if_cancelled), on_cancel);
      });
    }
    Await(ResumeOf(std::make_shared<Handler>(std::move(handler))));
  }

  // The handler is shared because std::function is copied and a handler can only be moved.
  template <typename Handler>
  static Resume ResumeOf(std::shared_ptr<Handler> handler) {
    auto slot = boost::asio::get_associated_cancellation_slot(*handler);
    auto executor = boost::asio::get_associated_executor(*handler);
    auto work = boost::asio::make_work_guard(executor);
    return [handler = std::move(handler), slot, executor, work = std::move(work)](T value) mutable {
      auto complete = [handler = std::move(handler), slot, work = std::move(work),
                       value = std::move(value)]() mutable {
        if (slot.is_connected()) slot.clear();
        Handler ready = std::move(*handler);
        handler.reset();
        std::move(ready)(std::move(value));
      };
      boost::asio::post(executor, std::move(complete));
    };
  }

  void Await(Resume resume) {
    std::optional<T> ready;
    {
      const std::lock_guard lock(mutex_);
      if (value_.has_value()) {
        ready.swap(value_);
      } else {
        resume_ = std::move(resume);
      }
    }
    if (ready.has_value()) resume(std::move(*ready));
  }

  void Cancel(T if_cancelled, const std::function<void()>& on_cancel) {
    Resume resume;
    {
      const std::lock_guard lock(mutex_);
      resume = std::exchange(resume_, nullptr);
    }
    if (!resume) return;
    if (on_cancel) on_cancel();
    resume(std::move(if_cancelled));
  }

  mutable std::mutex mutex_;
  std::optional<T> value_;
  Resume resume_;
};

}  // namespace sandkeep
