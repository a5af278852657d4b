// A link to an init that says what the test has it say.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/strand.hpp>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/init_link/init_link.h"
#include "common/strings.h"
#include "tests/fakes/fake_random.h"
#include "tests/fakes/lying_init.h"
#include "tests/fakes/patience.h"

namespace sandkeep {

using init::v1::FromInit;
using init::v1::JobState;
using init::v1::Refused;
using init::v1::ToInit;

class InitLinkTest : public testing::Test, protected InitEvents {
 protected:
  void Open(std::chrono::milliseconds deadline = kInitHelloDeadline) {
    link_ = MakeInitLink(strand_, init_.Container(), *this, random_, deadline);
    auto done = [this](std::exception_ptr, absl::StatusOr<std::vector<InitJob>> jobs) {
      greeted_ = std::move(jobs);
    };
    boost::asio::co_spawn(strand_, link_->Hello(), std::move(done));
    Settle();
  }

  void Finish() {
    const auto deadline = std::chrono::steady_clock::now() + kTestPatience;
    io_.restart();
    while (!greeted_ && std::chrono::steady_clock::now() < deadline) {
      io_.run_one_for(std::chrono::milliseconds(100));
      io_.restart();
    }
    ASSERT_TRUE(greeted_);
  }

  // Another init in its place.
  void StartOver() {
    link_.reset();
    init_ = LyingInit();
    greeted_.reset();
    broken_.clear();
    said_.clear();
    said_of_.clear();
  }

  void Greet(std::vector<JobState> jobs = {}) {
    Open();
    ASSERT_TRUE(init_.Hear()->has_hello());
    ASSERT_TRUE(init_.Say(init_.Reply(std::move(jobs))).ok());
    Finish();
    ASSERT_TRUE(greeted_->ok()) << greeted_->status();
    link_->Listen();
    Settle();
  }

  void Settle() {
    io_.restart();
    io_.poll();
  }

  JobId StartJob(std::string command = "true") {
    const JobId id = JobId::Random(random_);
    InitStart start{.id = id,
                    .command = std::move(command),
                    .cwd = {},
                    .env = {},
                    .merge_streams = true,
                    .stdout_write = Null(O_WRONLY),
                    .stderr_write = {},
                    .stdout_read = Null(O_RDONLY),
                    .stderr_read = {},
                    .stdin_read = {},
                    .stdin_write = {}};
    started_ = link_->Start(std::move(start));
    return id;
  }

  // A shell that stands by.
  JobId StandBy() {
    const JobId id = JobId::Random(random_);
    InitStandby shell{.id = id,
                      .stdout_write = Null(O_WRONLY),
                      .stdout_read = Null(O_RDONLY),
                      .text = Null(O_RDONLY),
                      .ready = Null(O_RDONLY)};
    started_ = link_->StandBy(std::move(shell));
    return id;
  }

  void ExpectBroken(std::string_view why) {
    Settle();
    ASSERT_EQ(broken_.size(), 1u);
    EXPECT_TRUE(absl::IsDataLoss(broken_[0])) << broken_[0];
    EXPECT_NE(broken_[0].message().find(ToAbsl(why)), absl::string_view::npos) << broken_[0];
    EXPECT_TRUE(init_.AgentGone());
    EXPECT_TRUE(absl::IsUnavailable(link_->FreezeAll()));
  }

  static UniqueFd Null(int flags) { return UniqueFd(::open("/dev/null", flags | O_CLOEXEC)); }

  static FromInit StartedFrame(const JobId& id) {
    FromInit frame;
    frame.mutable_started()->set_job_id(id.bytes());
    frame.mutable_started()->set_pid(7);
    return frame;
  }
  static FromInit ExitedFrame(const JobId& id, int status = 0) {
    FromInit frame;
    frame.mutable_exited()->set_job_id(id.bytes());
    frame.mutable_exited()->set_wait_status(status);
    return frame;
  }
  static FromInit GoneFrame(const JobId& id) {
    FromInit frame;
    frame.mutable_gone()->set_job_id(id.bytes());
    return frame;
  }
  static FromInit RefusedFrame(const JobId& id, Refused::Reason reason) {
    FromInit frame;
    frame.mutable_refused()->set_job_id(id.bytes());
    frame.mutable_refused()->set_reason(reason);
    return frame;
  }
  static JobState Running(const JobId& id) {
    JobState state;
    state.set_job_id(id.bytes());
    state.set_pid(7);
    state.set_stdout_fd(-1);
    state.set_stderr_fd(-1);
    state.set_stdin_fd(-1);
    return state;
  }

  void OnStarted(const JobId& id) override { Note('S', id); }
  void OnExited(const JobId& id, int, int left_behind, bool) override {
    Note('E', id);
    left_behind_ = left_behind;
  }
  void OnGone(const JobId& id) override { Note('G', id); }
  void OnWaiting(const JobId& id) override { Note('W', id); }
  void OnPortOpened(std::uint16_t port) override { ports_.push_back(port); }
  void OnRefused(const JobId& id, absl::Status why) override {
    Note('R', id);
    refusal_ = std::move(why);
  }
  void OnBroken(absl::Status why) override { broken_.push_back(std::move(why)); }

  void Note(char event, const JobId& id) {
    said_ += event;
    said_of_[id] += event;
  }

  boost::asio::io_context io_;
  boost::asio::any_io_executor strand_ = boost::asio::make_strand(io_);
  FakeRandom random_;
  LyingInit init_;
  std::unique_ptr<InitLink> link_;
  std::optional<absl::StatusOr<std::vector<InitJob>>> greeted_;
  absl::Status started_;
  absl::Status refusal_;
  int left_behind_ = -1;
  std::string said_;
  std::map<JobId, std::string> said_of_;
  std::vector<std::uint16_t> ports_;
  std::vector<absl::Status> broken_;
};

}  // namespace sandkeep
