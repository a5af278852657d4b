// A job table over the real init and the real store, in one thread: each call runs to its end, and
// everything else that is due with it.
#pragma once

#include <gtest/gtest.h>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <string>

#include "agent/jobs/job_table.h"
#include "common/strings.h"
#include "tests/fakes/init_process.h"
#include "tests/fakes/patience.h"

namespace sandkeep {

// What a watcher saw, put together.
struct Seen {
  std::string out;
  std::string err;
  std::vector<JobGap> gaps;
  int waits = 0;
  std::vector<std::string> notes;
  std::optional<Outcome> outcome;
  absl::Status failure;
};

class JobsTest : public testing::Test, protected JobTableEvents {
 protected:
  void SetUp() override {
    absl::StatusOr<std::unique_ptr<InitProcess>> init = InitProcess::Start();
    if (!init.ok()) GTEST_SKIP() << init.status();
    init_ = *std::move(init);
    std::string folder = std::filesystem::temp_directory_path() / "sandkeep-jobs-XXXXXX";
    ASSERT_NE(::mkdtemp(folder.data()), nullptr);
    folder_ = folder;
    std::filesystem::create_directory(folder_ / "spool");
    store_ = OpenStore(folder_).value();
    MakeTable();
    ASSERT_TRUE(Attach().ok());
  }

  void TearDown() override {
    table_.reset();
    if (init_) init_->Kill();
    io_.poll();
    disk_.join();
    store_.reset();
    if (!folder_.empty()) std::filesystem::remove_all(folder_);
  }

  void MakeTable() {
    std::vector<JobRow> mine;
    std::vector<JobRow> rows = Await(store_->LoadJobs()).value();
    for (JobRow& row : rows) {
      if (row.sandbox == sandbox_) mine.push_back(std::move(row));
    }
    table_ = MakeJobTable(strand_, *store_, SystemClock(), SystemRandom(), limits_, sandbox_,
                          SpoolDir(), std::move(mine), disk_.get_executor(), *this);
  }

  RunningContainer Container() {
    RunningContainer container{.name = EngineName::Make(SystemRandom()),
                               .hostname = {},
                               .init_pid = init_->pid(),
                               .init_pidfd = init_->PidFd(),
                               .channel = init_->TakeChannel().value(),
                               .counts = {},
                               .is_frozen = {}};
    return container;
  }

  absl::Status Attach() { return Await(table_->Attach(Container(), lost_)); }

  // The agent dies and is started again.
  void RestartAgent() {
    table_.reset();
    io_.poll();
    MakeTable();
    ASSERT_TRUE(Attach().ok());
  }

  template <typename T>
  T Await(boost::asio::awaitable<T> work) {
    std::optional<T> result;
    auto done = [&result](std::exception_ptr error, T value) {
      if (error) std::rethrow_exception(error);
      result.emplace(std::move(value));
    };
    boost::asio::co_spawn(strand_, std::move(work), std::move(done));
    RunUntil([&]() { return result.has_value(); });
    return *std::move(result);
  }

  // Handles what is due until it holds. A test that waits for what never comes ends here.
  void RunUntil(const std::function<bool()>& holds) {
    const auto deadline = std::chrono::steady_clock::now() + kTestPatience;
    while (!holds()) {
      if (std::chrono::steady_clock::now() > deadline) {
        // A brief report doesn't get to the test's name.
        const testing::TestInfo& test = *testing::UnitTest::GetInstance()->current_test_info();
        ADD_FAILURE() << test.test_suite_name() << "." << test.name() << " waited in vain";
        std::abort();
      }
      io_.run_one_for(std::chrono::milliseconds(100));
    }
  }

  static JobSpec Command(std::string command) {
    return {.id = JobId::Random(SystemRandom()),
            .command = std::move(command),
            .cwd = {},
            .env = {},
            .stdin_text = {},
            .keep_stdin = false,
            .merge_streams = true,
            .timeout = absl::InfiniteDuration(),
            .grace = absl::Seconds(2)};
  }

  JobId Start(JobSpec spec) {
    const JobId id = spec.id;
    const absl::StatusOr<JobSnapshot> started = Await(table_->Start(std::move(spec)));
    EXPECT_TRUE(started.ok()) << started.status();
    return id;
  }

  static boost::asio::awaitable<Seen> Follow(JobWatcher& watcher) {
    Seen seen;
    for (;;) {
      absl::StatusOr<JobEvent> event = co_await watcher.Next();
      if (!event.ok()) {
        seen.failure = event.status();
        co_return seen;
      }
      Note(*event, seen);
      const bool last = event->kind == JobEvent::Kind::kOutcome ||
                        event->kind == JobEvent::Kind::kEndOfWhatThereIs;
      if (last) co_return seen;
    }
  }

  static void Note(const JobEvent& event, Seen& seen) {
    switch (event.kind) {
      case JobEvent::Kind::kOutput:
        (event.output.stream == OutputStream::kStderr ? seen.err : seen.out) += event.output.data;
        break;
      case JobEvent::Kind::kGap:
        seen.gaps.push_back(event.gap);
        break;
      case JobEvent::Kind::kWaitingForInput:
        ++seen.waits;
        break;
      case JobEvent::Kind::kPaused:
        break;
      case JobEvent::Kind::kNote:
        seen.notes.push_back(event.note);
        break;
      case JobEvent::Kind::kOutcome:
        seen.outcome = event.outcome;
        break;
      case JobEvent::Kind::kEndOfWhatThereIs:
        break;
    }
  }

  Seen Watch(const JobId& id, std::int64_t from = 0, bool follow = true) {
    absl::StatusOr<std::unique_ptr<JobWatcher>> watcher = table_->Watch(id, from, follow);
    if (watcher.ok()) return Await(Follow(**watcher));
    Seen seen;
    seen.failure = watcher.status();
    return seen;
  }

  Seen Run(JobSpec spec) { return Watch(Start(std::move(spec))); }
  Seen Run(std::string command) { return Run(Command(std::move(command))); }

  // What is in the job's own file, holes as zeros.
  std::string SpoolText(const JobId& id) const {
    std::ifstream file(SpoolDir() + "/" + id.hex() + ".out", std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  void AwaitOutput(const JobId& id, std::int64_t bytes) {
    RunUntil([&]() { return table_->Find(id)->output_bytes >= bytes; });
  }

  std::string SpoolDir() const { return folder_ / "spool"; }

  void OnActivity() override { ++activity_; }
  void OnInitBroken(absl::Status why) override { broken_.push_back(std::move(why)); }

  boost::asio::io_context io_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> guard_{
      io_.get_executor()};
  boost::asio::any_io_executor strand_ = boost::asio::make_strand(io_);
  boost::asio::thread_pool disk_{2};
  std::filesystem::path folder_;
  std::unique_ptr<InitProcess> init_;
  std::unique_ptr<Store> store_;
  SandboxKey sandbox_ = SandboxKey::Parse("amber-otter-aaaabbbbccccdddd").value();
  JobLimits limits_;
  Outcome lost_{.ending = Ending::kSandboxGone, .remedy = "its sandbox is gone"};
  int activity_ = 0;
  std::vector<absl::Status> broken_;
  std::unique_ptr<JobTable> table_;
};

}  // namespace sandkeep
