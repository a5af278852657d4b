// From gRPC's server callbacks into coroutines: one unary call, one stream that we write, and one
// that we read. For agent_service.cc only.
//
// gRPC's threads only post; each call is a coroutine on a strand of its own. A reactor owns itself
// until OnDone; the coroutine's end finishes the call, and after that nothing touches its request
// and response, which are gRPC's.
#pragma once

#include <grpcpp/support/server_callback.h>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/system/system_error.hpp>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "agent/client/grpc_status.h"
#include "agent/service/call_count.h"
#include "common/async.h"
#include "common/pending.h"
#include "common/strand.h"

namespace sandkeep {

// What a call's coroutine came to.
absl::Status ResultOf(const std::exception_ptr& thrown, absl::Status status);

// Runs it; what it throws is a fault of ours.
absl::Status Guarded(const std::function<absl::Status()>& body);

// A call whose end is known at once, often that it is refused; any kind of reactor.
template <typename Reactor>
class Settled : public Reactor {
 public:
  static Reactor* Make(const absl::Status& end) { return new Settled(end); }

 private:
  explicit Settled(const absl::Status& end) { this->Finish(ToGrpc(end)); }
  void OnDone() override { delete this; }
};

// A call's coroutine, and the way to cancel it from gRPC's threads.
class CallRoot : public std::enable_shared_from_this<CallRoot> {
 public:
  virtual ~CallRoot() = default;

 protected:
  explicit CallRoot(const boost::asio::any_io_executor& executor, CallCount::Place place)
      : strand_(MakeStrand(executor)), place_(std::move(place)) {}

  // `work` is called on the strand. The reactor lives until both it and gRPC are done.
  void Run(std::function<Async<void>()> work) {
    boost::asio::post(strand_,
                      [self = shared_from_this(), work = std::move(work)] { self->Spawn(work); });
  }
  void CancelFromAnyThread() {
    boost::asio::post(strand_, [self = shared_from_this()] {
      self->cancel_.emit(boost::asio::cancellation_type::terminal);
    });
  }
  virtual void Finished(const absl::Status& status) = 0;

 private:
  void Spawn(const std::function<Async<void>()>& work) {
    auto finished = [self = shared_from_this()](const std::exception_ptr& thrown,
                                                absl::Status status) {
      self->Finished(ResultOf(thrown, std::move(status)));
    };
    boost::asio::co_spawn(strand_, work(),
                          boost::asio::bind_cancellation_slot(cancel_.slot(), std::move(finished)));
  }

  const boost::asio::any_io_executor strand_;
  boost::asio::cancellation_signal cancel_;
  const CallCount::Place place_;
};

// A unary call. With `cancellable` the coroutine is cancelled when the caller leaves; what changes
// something runs to its end instead, and its answer is dropped.
class UnaryReactor : public grpc::ServerUnaryReactor, public CallRoot {
 public:
  static grpc::ServerUnaryReactor* Start(const boost::asio::any_io_executor& executor,
                                         CallCount::Place place, bool cancellable,
                                         std::function<Async<void>()> work) {
    std::shared_ptr<UnaryReactor> reactor(
        new UnaryReactor(executor, std::move(place), cancellable));
    reactor->self_ = reactor;
    reactor->Run(std::move(work));
    return reactor.get();
  }

 private:
  UnaryReactor(const boost::asio::any_io_executor& executor, CallCount::Place place,
               bool cancellable)
      : CallRoot(executor, std::move(place)), cancellable_(cancellable) {}

  void Finished(const absl::Status& status) override { Finish(ToGrpc(status)); }
  void OnCancel() override {
    if (cancellable_) CancelFromAnyThread();
  }
  void OnDone() override { self_.reset(); }
  // OnDone only lets go, and OnCancel posts: gRPC needn't wake a thread of its executor for them.
  bool InternalInlineable() override { return true; }

  const bool cancellable_;
  std::shared_ptr<UnaryReactor> self_;
};

// Where a streaming call's coroutine writes: one message at a time, and the next only when gRPC has
// taken the last, so that a slow reader stops its source and not our memory.
template <typename Message>
class StreamWriter {
 public:
  virtual ~StreamWriter() = default;
  // Cancelled: the reader is gone.
  virtual Async<void> Write(Message message) = 0;
  // Goes out together with the status, once the coroutine has ended well: one packet less to wait
  // for.
  virtual void WriteLast(Message message) = 0;
};

template <typename Message>
class StreamReactor : public grpc::ServerWriteReactor<Message>,
                      public CallRoot,
                      public StreamWriter<Message> {
 public:
  using Work = std::function<Async<void>(StreamWriter<Message>&)>;

  static grpc::ServerWriteReactor<Message>* Start(const boost::asio::any_io_executor& executor,
                                                  CallCount::Place place, const Work& work) {
    std::shared_ptr<StreamReactor> reactor(new StreamReactor(executor, std::move(place)));
    reactor->self_ = reactor;
    StreamWriter<Message>* const writer = reactor.get();
    reactor->Run([work, writer] { return work(*writer); });
    return reactor.get();
  }

  Async<void> Write(Message message) override {
    message_ = std::move(message);
    this->StartWrite(&message_);
    // gRPC answers soon, also when the caller left; until then the message is its.
    auto waiting = written_->TakeSurely();
    const bool written = co_await std::move(waiting);
    if (!written) co_return absl::CancelledError("the caller left");
    co_return absl::OkStatus();
  }

  void WriteLast(Message message) override { last_ = std::move(message); }

 private:
  StreamReactor(const boost::asio::any_io_executor& executor, CallCount::Place place)
      : CallRoot(executor, std::move(place)) {}

  void Finished(const absl::Status& status) override {
    if (!status.ok() || !last_.has_value()) return this->Finish(ToGrpc(status));
    message_ = *std::move(last_);
    this->StartWriteAndFinish(&message_, grpc::WriteOptions(), ToGrpc(status));
  }
  void OnWriteDone(bool ok) override { written_->Deliver(ok); }
  void OnCancel() override { CancelFromAnyThread(); }
  void OnDone() override { self_.reset(); }
  // As a unary call's.
  bool InternalInlineable() override { return true; }

  Message message_;
  std::optional<Message> last_;
  const std::shared_ptr<Pending<bool>> written_ = std::make_shared<Pending<bool>>();
  std::shared_ptr<StreamReactor> self_;
};

// What a caller sends in parts. Pulled: a slow disk stops the sender and fills no memory.
template <typename Message>
class StreamReader {
 public:
  virtual ~StreamReader() = default;
  // nullopt: there is no more, be it that the caller is done or that it left. Who must know which,
  // knows how much was to come.
  virtual Async<std::optional<Message>> Next() = 0;
};

template <typename Message>
class ReadReactor : public grpc::ServerReadReactor<Message>,
                    public CallRoot,
                    public StreamReader<Message> {
 public:
  using Work = std::function<Async<void>(StreamReader<Message>&)>;

  static grpc::ServerReadReactor<Message>* Start(const boost::asio::any_io_executor& executor,
                                                 CallCount::Place place, const Work& work) {
    std::shared_ptr<ReadReactor> reactor(new ReadReactor(executor, std::move(place)));
    reactor->self_ = reactor;
    StreamReader<Message>* const reader = reactor.get();
    reactor->Run([work, reader] { return work(*reader); });
    return reactor.get();
  }

  Async<std::optional<Message>> Next() override {
    this->StartRead(&message_);
    // gRPC answers soon, also when the caller left; until then the message is its.
    auto waiting = read_->TakeSurely();
    const bool read = co_await std::move(waiting);
    if (!read) co_return std::nullopt;
    co_return std::optional<Message>(std::move(message_));
  }

 private:
  ReadReactor(const boost::asio::any_io_executor& executor, CallCount::Place place)
      : CallRoot(executor, std::move(place)) {}

  void Finished(const absl::Status& status) override { this->Finish(ToGrpc(status)); }
  void OnReadDone(bool ok) override { read_->Deliver(ok); }
  void OnCancel() override { CancelFromAnyThread(); }
  void OnDone() override { self_.reset(); }
  // As a unary call's.
  bool InternalInlineable() override { return true; }

  Message message_;
  const std::shared_ptr<Pending<bool>> read_ = std::make_shared<Pending<bool>>();
  std::shared_ptr<ReadReactor> self_;
};

}  // namespace sandkeep
