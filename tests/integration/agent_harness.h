// The agent's API for real: server, socket and client, with a scripted manager behind them. Each
// test has its own folder, threads and server.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "agent/client/grpc_agent_client.h"
#include "agent/service/server.h"
#include "common/strings.h"
#include "tests/unit/agent/service/scripted_manager.h"

namespace sandkeep {

class AgentHarness {
 public:
  explicit AgentHarness(
      Peer peer = {.uid = ::geteuid(), .frontend = true, .operate = true, .prefix = ""})
      : AgentHarness(std::vector<Peer>{std::move(peer)}) {}
  explicit AgentHarness(std::vector<Peer> peers) : peers_(std::move(peers)) {
    std::string name = (std::filesystem::temp_directory_path() / "sandkeep-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
    for (int i = 0; i < 2; ++i) threads_.emplace_back([this] { io_.run(); });
    manager.info = [] { return Answered<ManagerInfo>(ManagerInfo{}); };
    StartServer();
    client = MakeGrpcAgentClient(socket_path());
  }
  ~AgentHarness() {
    client.reset();
    server_.reset();
    work_.reset();
    for (std::thread& thread : threads_) thread.join();
    std::filesystem::remove_all(folder_);
  }

  void StartServer() {
    auto server =
        StartAgentServer(io_.get_executor(), manager, Facts(),
                         {.socket_path = socket_path(), .socket_group = {}, .peers = peers_});
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }
  void StopServer() { server_.reset(); }

  // Runs a coroutine on the threads and waits for its result.
  template <typename T>
  T Run(boost::asio::awaitable<T> coroutine) {
    return boost::asio::co_spawn(io_, std::move(coroutine), boost::asio::use_future).get();
  }

  std::string socket_path() const { return StrCat(folder_, "/agent.sock"); }
  const std::string& folder() const { return folder_; }
  boost::asio::io_context& io() { return io_; }

  static HostFacts Facts() {
    HostFacts facts{.instance = *InstanceId::FromBytes("iiiiiiiiiiiiiiii")};
    facts.version = "test";
    facts.profile = "conversation";
    facts.network = "internet";
    facts.max_timeout = absl::Seconds(900);
    facts.background = absl::InfiniteDuration();
    facts.max_running = 2;
    return facts;
  }

  ScriptedManager manager;
  std::unique_ptr<AgentClient> client;

 private:
  const std::vector<Peer> peers_;
  std::string folder_;
  boost::asio::io_context io_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_{
      io_.get_executor()};
  std::vector<std::thread> threads_;
  std::unique_ptr<AgentServer> server_;
};

// What every sandbox request of these tests names.
inline void Name(agent::v1::SandboxRef* ref) {
  ref->set_principal("key-0123");
  ref->set_label("Amber Otter");
}
template <typename Request>
Request Named() {
  Request request;
  Name(request.mutable_sandbox());
  return request;
}
inline agent::v1::StartJobRequest SomeCommand() {
  auto request = Named<agent::v1::StartJobRequest>();
  request.set_job_id("jjjjjjjjjjjjjjjj");
  request.set_command("true");
  request.set_merge_streams(true);
  return request;
}

}  // namespace sandkeep
