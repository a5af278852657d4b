// A stream to an agent that is there and does nothing: whoever sends a file must not hang with it.

#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <memory>
#include <string>

#include "agent/client/call.h"
#include "agent/client/grpc_setup.h"

namespace sandkeep {
namespace {

namespace asio = boost::asio;
namespace v1 = agent::v1;

// Takes nothing and says nothing.
class Deaf : public grpc::ServerReadReactor<v1::WriteFileRequest> {
 public:
  void OnCancel() override { Finish(grpc::Status::CANCELLED); }
  void OnDone() override { delete this; }
};

class DeafAgent : public v1::Agent::CallbackService {
 public:
  grpc::ServerReadReactor<v1::WriteFileRequest>* WriteFile(grpc::CallbackServerContext*,
                                                           v1::WriteFileResponse*) override {
    return new Deaf;
  }
};

class WriteCallTest : public testing::Test {
 protected:
  using Call = WriteCall<v1::WriteFileRequest, v1::WriteFileResponse>;

  WriteCallTest() {
    SetUpGrpc();
    grpc::ServerBuilder builder;
    builder.RegisterService(&agent_);
    server_ = builder.BuildAndStart();
    stub_ = v1::Agent::NewStub(server_->InProcessChannel({}));
  }
  ~WriteCallTest() override {
    in_flight_->CancelAllAndWait();
    server_->Shutdown(std::chrono::system_clock::now());
  }

  std::shared_ptr<Call> Started(WriteDeadlines deadlines) {
    auto call = std::make_shared<Call>(deadlines);
    call->Start(stub_->async(), in_flight_, &AgentStub::WriteFile);
    return call;
  }
  template <typename T>
  T Await(asio::awaitable<T> work) {
    auto result = asio::co_spawn(io_, std::move(work), asio::use_future);
    io_.restart();
    io_.run();
    return result.get();
  }
  static v1::WriteFileRequest Part() {
    v1::WriteFileRequest part;
    part.set_data(std::string(1 << 20, 'x'));
    return part;
  }

  DeafAgent agent_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<v1::Agent::Stub> stub_;
  const std::shared_ptr<InFlight> in_flight_ = std::make_shared<InFlight>();
  asio::io_context io_;
};

TEST_F(WriteCallTest, AnAgentThatTakesNothingMoreIsGivenUp) {
  const auto call = Started({.part = std::chrono::milliseconds(50)});
  bool taken = true;
  for (int parts = 0; taken && parts < 100; ++parts) taken = Await(call->Write(Part()));
  EXPECT_FALSE(taken);
  EXPECT_EQ(Await(call->End()).error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
}

TEST_F(WriteCallTest, AnAgentThatNeverAnswersIsGivenUp) {
  const auto call = Started({.end = std::chrono::milliseconds(50)});
  EXPECT_EQ(Await(call->End()).error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
}

}  // namespace
}  // namespace sandkeep
