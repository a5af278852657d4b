// From gRPC's callbacks into coroutines: one unary call, one server stream that is pulled, and one
// that is written. For grpc_agent_client.cc only.
//
// gRPC's threads do nothing here but post. A call owns itself until gRPC is done with it, so a
// coroutine that goes away cancels the call and never waits for it.
#pragma once

#include <grpcpp/support/client_callback.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "agent/client/in_flight.h"
#include "common/limits.h"
#include "common/pending.h"
#include "sandkeep/agent/v1/agent.grpc.pb.h"

namespace sandkeep {

using AgentStub = agent::v1::Agent::StubInterface::async_interface;

template <typename Request, typename Response>
using UnaryMethod = void (AgentStub::*)(grpc::ClientContext*, const Request*, Response*,
                                        std::function<void(grpc::Status)>);

template <typename Request, typename Response>
class UnaryCall : public InFlight::Call,
                  public std::enable_shared_from_this<UnaryCall<Request, Response>> {
 public:
  explicit UnaryCall(Request request) : request_(std::move(request)) {}

  void Start(AgentStub* stub, const std::shared_ptr<InFlight>& in_flight,
             UnaryMethod<Request, Response> method) {
    if (!in_flight->Add(this)) {
      done_->Deliver(grpc::Status::CANCELLED);
      return;
    }
    auto finished = [self = this->shared_from_this(), in_flight](grpc::Status status) mutable {
      self->done_->Deliver(std::move(status));
      in_flight->Remove(self.get());
      self.reset();
      in_flight->Done();
    };
    (stub->*method)(&context_, &request_, &response_, std::move(finished));
  }

  // Once, after Start. `response` is whole when the status is OK.
  boost::asio::awaitable<grpc::Status> Wait() {
    auto cancel = [self = this->shared_from_this()] { self->Cancel(); };
    return done_->Take(grpc::Status::CANCELLED, std::move(cancel));
  }

  void Cancel() override { context_.TryCancel(); }

  grpc::ClientContext& context() { return context_; }
  Response& response() { return response_; }

 private:
  const Request request_;
  Response response_;
  grpc::ClientContext context_;
  const std::shared_ptr<Pending<grpc::Status>> done_ = std::make_shared<Pending<grpc::Status>>();
};

template <typename Request, typename Message>
using StreamMethod = void (AgentStub::*)(grpc::ClientContext*, const Request*,
                                         grpc::ClientReadReactor<Message>*);

// Owned by itself from Start to OnDone, and by its handle. Next belongs to the handle's coroutine,
// Cancel to any thread.
template <typename Request, typename Message>
class StreamCall : public InFlight::Call,
                   public grpc::ClientReadReactor<Message>,
                   public std::enable_shared_from_this<StreamCall<Request, Message>> {
 public:
  // A message, or how the stream ended.
  struct Item {
    std::optional<Message> message;
    grpc::Status end;
    bool wait_cancelled = false;
  };

  explicit StreamCall(Request request) : request_(std::move(request)) {}

  void Start(AgentStub* stub, std::shared_ptr<InFlight> in_flight,
             StreamMethod<Request, Message> method) {
    if (!in_flight->Add(this)) {
      released_ = true;
      items_->Deliver(Item{.message = {}, .end = grpc::Status::CANCELLED});
      return;
    }
    in_flight_ = std::move(in_flight);
    self_ = this->shared_from_this();
    (stub->*method)(&context_, &request_, this);
    // Lets us start reads from outside gRPC's callbacks. It goes with the first failed read or with
    // Cancel, whichever comes first.
    this->AddHold();
    this->StartCall();
  }

  // Nothing is read ahead: the next read starts when the last message was taken. A wait that is
  // cancelled, or over, leaves its read under way for the next one.
  boost::asio::awaitable<Item> Wait(std::chrono::steady_clock::time_point until) {
    {
      const std::lock_guard lock(mutex_);
      if (!reading_ && !released_) {
        reading_ = true;
        this->StartRead(&message_);
      }
    }
    return items_->Take(Item{.message = {}, .end = {}, .wait_cancelled = true}, {}, until);
  }

  // The message of the last Wait was taken.
  void Taken() {
    const std::lock_guard lock(mutex_);
    reading_ = false;
  }

  void Cancel() override {
    context_.TryCancel();
    Release();
  }

 private:
  void OnReadDone(bool ok) override {
    if (!ok) return Release();  // OnDone brings the status.
    Item item;
    item.message.emplace(std::move(message_));
    items_->Deliver(std::move(item));
  }

  void OnDone(const grpc::Status& status) override {
    items_->Deliver(Item{.message = {}, .end = status});
    const auto in_flight = std::move(in_flight_);
    auto self = std::move(self_);
    in_flight->Remove(this);
    self.reset();
    in_flight->Done();
  }

  // After it no read may be started: gRPC may be done with us at any moment.
  void Release() {
    const std::lock_guard lock(mutex_);
    if (std::exchange(released_, true)) return;
    this->RemoveHold();
  }

  const Request request_;
  Message message_;
  grpc::ClientContext context_;
  std::shared_ptr<InFlight> in_flight_;
  std::shared_ptr<StreamCall> self_;
  const std::shared_ptr<Pending<Item>> items_ = std::make_shared<Pending<Item>>();
  std::mutex mutex_;
  bool reading_ = false;
  bool released_ = false;
};

template <typename Request, typename Response>
using WriteMethod = void (AgentStub::*)(grpc::ClientContext*, Response*,
                                        grpc::ClientWriteReactor<Request>*);

// How long the agent may take.
struct WriteDeadlines {
  std::chrono::milliseconds part = kFilePartDeadline;
  std::chrono::milliseconds end = kFileEndDeadline;
};

// A stream of ours to the agent, and its one answer. Owned as StreamCall is; its coroutine writes
// one message at a time, then waits for the end. An agent that takes too long for either is given
// up: who sends the whole may take hours, and so the call has no deadline of its own.
template <typename Request, typename Response>
class WriteCall : public InFlight::Call,
                  public grpc::ClientWriteReactor<Request>,
                  public std::enable_shared_from_this<WriteCall<Request, Response>> {
 public:
  explicit WriteCall(WriteDeadlines deadlines = {}) : deadlines_(deadlines) {}

  void Start(AgentStub* stub, std::shared_ptr<InFlight> in_flight,
             WriteMethod<Request, Response> method) {
    if (!in_flight->Add(this)) {
      released_ = true;
      end_->Deliver(grpc::Status::CANCELLED);
      return;
    }
    in_flight_ = std::move(in_flight);
    self_ = this->shared_from_this();
    (stub->*method)(&context_, &response_, this);
    this->AddHold();
    this->StartCall();
  }

  // False: the agent takes no more; End says why.
  boost::asio::awaitable<bool> Write(Request message) {
    {
      const std::lock_guard lock(mutex_);
      if (released_) co_return false;
      message_ = std::move(message);
      this->StartWrite(&message_);
    }
    const auto until = std::chrono::steady_clock::now() + deadlines_.part;
    auto cancel = [self = this->shared_from_this()] { self->Cancel(); };
    auto waiting = written_->Take(false, std::move(cancel), until);
    const bool written = co_await std::move(waiting);
    if (!written && std::chrono::steady_clock::now() >= until) late_ = true;
    co_return written;
  }

  // Once, after the last Write. `response` is whole when the status is OK.
  boost::asio::awaitable<grpc::Status> End() {
    {
      const std::lock_guard lock(mutex_);
      if (!released_) this->StartWritesDone();
    }
    Release();
    const auto until = std::chrono::steady_clock::now() + deadlines_.end;
    auto cancel = [self = this->shared_from_this()] { self->Cancel(); };
    auto waiting = end_->Take(grpc::Status::CANCELLED, std::move(cancel), until);
    grpc::Status end = co_await std::move(waiting);
    const bool given_up = late_ || std::chrono::steady_clock::now() >= until;
    if (end.error_code() != grpc::StatusCode::CANCELLED || !given_up) co_return end;
    co_return grpc::Status(grpc::StatusCode::DEADLINE_EXCEEDED, "the agent takes too long");
  }

  void Cancel() override {
    context_.TryCancel();
    Release();
  }

  Response& response() { return response_; }

 private:
  void OnWriteDone(bool ok) override {
    if (!ok) Release();
    written_->Deliver(ok);
  }

  void OnDone(const grpc::Status& status) override {
    end_->Deliver(status);
    const auto in_flight = std::move(in_flight_);
    auto self = std::move(self_);
    in_flight->Remove(this);
    self.reset();
    in_flight->Done();
  }

  // After it nothing may be started: gRPC may be done with us at any moment.
  void Release() {
    const std::lock_guard lock(mutex_);
    if (std::exchange(released_, true)) return;
    this->RemoveHold();
  }

  const WriteDeadlines deadlines_;
  bool late_ = false;  // The coroutine's.
  Request message_;
  Response response_;
  grpc::ClientContext context_;
  std::shared_ptr<InFlight> in_flight_;
  std::shared_ptr<WriteCall> self_;
  const std::shared_ptr<Pending<bool>> written_ = std::make_shared<Pending<bool>>();
  const std::shared_ptr<Pending<grpc::Status>> end_ = std::make_shared<Pending<grpc::Status>>();
  std::mutex mutex_;
  bool released_ = false;
};

}  // namespace sandkeep
