// Starts, watchers, cancels, deaths of the agent and reconnections in any order
// that chance gives: no byte is lost, none comes twice, no command runs twice.
// The seeds are fixed and stand in the tests' names.

#include <signal.h>

#include <fstream>
#include <memory>
#include <random>

#include "tests/unit/agent/jobs/jobs_fixture.h"

namespace sandkeep {
namespace {

// What one watcher got, from one offset on.
struct View {
  std::size_t job = 0;
  std::int64_t from = 0;
  std::string bytes;
  bool contiguous = true;
  std::unique_ptr<JobWatcher> watcher;
  boost::asio::cancellation_signal cancel;
  bool over = false;
  absl::Status failure;
  std::optional<Outcome> outcome;

  std::int64_t end() const { return from + static_cast<std::int64_t>(bytes.size()); }
};

boost::asio::awaitable<void> Collect(std::shared_ptr<View> view) {
  for (;;) {
    absl::StatusOr<JobEvent> event = co_await view->watcher->Next();
    if (!event.ok()) view->failure = event.status();
    if (!event.ok()) break;
    if (event->kind == JobEvent::Kind::kGap) view->contiguous = false;
    if (event->kind == JobEvent::Kind::kOutput) {
      view->contiguous = view->contiguous && event->output.offset == view->end();
      view->bytes += event->output.data;
    }
    if (event->kind != JobEvent::Kind::kOutcome) continue;
    view->outcome = event->outcome;
    break;
  }
}

struct Begun {
  JobSpec spec;
  std::string expected;
  int code = 0;
  bool cancelled = false;
  bool interrupted = false;
};

class InterleavingsTest : public JobsTest, public testing::WithParamInterface<int> {
 protected:
  static constexpr int kSteps = 80;
  static constexpr std::size_t kMaxJobs = 14;

  int Below(int bound) { return static_cast<int>(engine_() % static_cast<unsigned>(bound)); }

  static std::string Lines(const std::string& word, int count) {
    std::string lines;
    for (int i = 1; i <= count; ++i) StrAppend(&lines, word, " ", i, "\n");
    return lines;
  }

  // Every command says in a file of its own that it runs.
  Begun AnyCommand() {
    const std::string word = StrCat("job", jobs_.size());
    Begun begun{.spec = Command(""), .expected = {}};
    begun.code = Below(100);
    std::string prints;
    switch (Below(4)) {
      case 0: {  // As fast as it is taken.
        const int lines = 1000 + Below(100'000);
        prints = StrCat("seq -f '", word, " %.0f' 1 ", lines);
        begun.expected = Lines(word, lines);
        break;
      }
      case 1: {  // Slowly.
        const int lines = 10 + Below(200);
        prints = StrCat("for i in {1..", lines, "}; do echo ", word, " $i; sleep 0.003; done");
        begun.expected = Lines(word, lines);
        break;
      }
      case 2:  // And on, when it has ended.
        prints = StrCat("echo ", word, " 1; (for i in {2..40}; do sleep 0.005; echo ", word,
                        " $i; done) &");
        begun.expected = Lines(word, 40);
        break;
      default:
        prints = "true";
        break;
    }
    begun.spec.command = StrCat("echo ran >>", word, "; ", prints, "\nexit ", begun.code);
    return begun;
  }

  void StartAny() {
    Begun begun = AnyCommand();
    // Made twice, it runs once.
    for (int i = Below(4) == 0 ? 2 : 1; i > 0; --i) Start(begun.spec);
    jobs_.push_back(std::move(begun));
  }

  static boost::asio::awaitable<void> Ask(JobTable& table, JobSpec spec, bool& asked) {
    asked = true;
    auto start = table.Start(std::move(spec));
    const absl::StatusOr<JobSnapshot> ignored = co_await std::move(start);
  }

  // The agent dies somewhere on the way; who asked asks again.
  void StartAndDie() {
    Begun begun = AnyCommand();
    begun.interrupted = true;
    bool asked = false;
    boost::asio::co_spawn(strand_, Ask(*table_, begun.spec, asked), [](std::exception_ptr) {});
    RunUntil([&]() { return asked; });
    for (int i = Below(12); i > 0; --i) io_.poll_one();
    Die();
    Start(begun.spec);
    jobs_.push_back(std::move(begun));
  }

  void Die() {
    RestartAgent();
    ++deaths_;
  }

  void Watch(std::size_t job, std::int64_t from) {
    auto view = std::make_shared<View>();
    view->job = job;
    view->from = from;
    view->watcher = table_->Watch(jobs_[job].spec.id, from, true).value();
    // Cancelled between two events, it ends by an exception.
    auto done = [view](const std::exception_ptr& error) {
      if (error) view->failure = absl::CancelledError("between two events");
      view->over = true;
    };
    boost::asio::co_spawn(strand_, Collect(view),
                          boost::asio::bind_cancellation_slot(view->cancel.slot(), done));
    views_.push_back(std::move(view));
  }

  void WatchAny() {
    if (jobs_.empty()) return;
    const auto job = static_cast<std::size_t>(Below(static_cast<int>(jobs_.size())));
    const std::int64_t size = table_->Find(jobs_[job].spec.id)->output_bytes;
    Watch(job, Below(2) == 0 ? 0 : Below(static_cast<int>(size) + 1));
  }

  // Where it stopped, as a client does.
  void ReconnectAny() {
    if (views_.empty()) return;
    const auto view = views_[static_cast<std::size_t>(Below(static_cast<int>(views_.size())))];
    if (!view->over) {
      view->cancel.emit(boost::asio::cancellation_type::terminal);
      RunUntil([&]() { return view->over; });
    }
    if (!view->outcome) Watch(view->job, view->end());
  }

  void CancelAny() {
    if (jobs_.empty()) return;
    Begun& job = jobs_[static_cast<std::size_t>(Below(static_cast<int>(jobs_.size())))];
    const auto stopped =
        Await(table_->Signal(job.spec.id, SIGTERM, absl::Milliseconds(Below(100)), true));
    ASSERT_TRUE(stopped.ok());
    job.cancelled = true;
  }

  void Pass() {
    const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(Below(15));
    while (std::chrono::steady_clock::now() < until) io_.run_one_for(std::chrono::milliseconds(1));
  }

  void Step() {
    switch (Below(10)) {
      case 0:
      case 1:
        if (jobs_.size() < kMaxJobs) StartAny();
        return;
      case 2:
        if (jobs_.size() < kMaxJobs) StartAndDie();
        return;
      case 3:
      case 4:
        return WatchAny();
      case 5:
      case 6:
        return ReconnectAny();
      case 7:
        return Die();
      case 8:
        return CancelAny();
      default:
        return Pass();
    }
  }

  bool Quiet(const Begun& job) const {
    const JobSnapshot now = *table_->Find(job.spec.id);
    return now.state == JobState::kEnded && now.left_behind == 0;
  }

  // Says which one doesn't end.
  void AwaitQuiet() {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    for (const Begun& job : jobs_) {
      while (!Quiet(job) && std::chrono::steady_clock::now() < deadline) {
        io_.run_one_for(std::chrono::milliseconds(100));
      }
      const JobSnapshot now = *table_->Find(job.spec.id);
      ASSERT_TRUE(Quiet(job)) << job.spec.command << "\nstate " << static_cast<int>(now.state)
                              << ", left behind " << now.left_behind << ", printed "
                              << now.output_bytes << ", cancelled " << job.cancelled
                              << ", interrupted " << job.interrupted;
    }
  }

  void ExpectWhole(std::size_t number) {
    const Begun& job = jobs_[number];
    SCOPED_TRACE(job.spec.command);
    const Seen seen = JobsTest::Watch(job.spec.id);
    ASSERT_TRUE(seen.outcome);
    EXPECT_TRUE(seen.gaps.empty());
    EXPECT_TRUE(SpoolText(job.spec.id) == seen.out);
    std::ifstream file(init_->workspace() / StrCat("job", number));
    const std::string ran{std::istreambuf_iterator<char>(file), {}};
    // A death between the record and init's hearing of it is a job that never
    // ran, and says so.
    const bool never = job.interrupted && seen.outcome->ending == Ending::kSandboxGone;
    if (never) {
      EXPECT_EQ(ran + seen.out, "");
      return;
    }
    if (job.cancelled) {
      EXPECT_TRUE(ran.empty() || ran == "ran\n") << ran;
      EXPECT_EQ(job.expected.compare(0, seen.out.size(), seen.out), 0)
          << "printed " << seen.out.size();
      return;
    }
    EXPECT_EQ(ran, "ran\n");
    EXPECT_EQ(seen.outcome->ending, Ending::kExited);
    EXPECT_EQ(seen.outcome->code, job.code);
    EXPECT_TRUE(seen.out == job.expected) << seen.out.size() << " of " << job.expected.size();
  }

  void ExpectPartOfWhole(const View& view) {
    SCOPED_TRACE(jobs_[view.job].spec.command);
    EXPECT_TRUE(view.contiguous);
    const std::string whole = SpoolText(jobs_[view.job].spec.id);
    ASSERT_LE(view.end(), static_cast<std::int64_t>(whole.size()));
    EXPECT_EQ(whole.compare(static_cast<std::size_t>(view.from), view.bytes.size(), view.bytes), 0)
        << "from " << view.from;
    const bool told =
        view.outcome || absl::IsUnavailable(view.failure) || absl::IsCancelled(view.failure);
    EXPECT_TRUE(told) << view.failure;
  }

  std::mt19937 engine_{static_cast<unsigned>(GetParam())};
  std::vector<Begun> jobs_;
  std::vector<std::shared_ptr<View>> views_;
  int deaths_ = 0;
};

TEST_P(InterleavingsTest, NoByteIsLostOrDoubledAndNothingRunsTwice) {
  for (int step = 0; step < kSteps; ++step) ASSERT_NO_FATAL_FAILURE(Step()) << "step " << step;
  ASSERT_NO_FATAL_FAILURE(AwaitQuiet());
  RunUntil([&]() {
    return std::all_of(views_.begin(), views_.end(), [](const auto& view) { return view->over; });
  });
  for (std::size_t i = 0; i < jobs_.size(); ++i) ExpectWhole(i);
  for (const auto& view : views_) ExpectPartOfWhole(*view);
  EXPECT_TRUE(broken_.empty());
  // Else it tested less than it says.
  EXPECT_GT(jobs_.size(), 3u);
  EXPECT_GT(views_.size(), 3u);
  EXPECT_GT(deaths_, 1);
}

INSTANTIATE_TEST_SUITE_P(Seed, InterleavingsTest, testing::Range(1, 13));

}  // namespace
}  // namespace sandkeep
