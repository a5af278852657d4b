#include "agent/ctl/commands.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/json.hpp>

#include "tests/fakes/fake_agent_client.h"
#include "tests/fakes/fake_clock.h"

namespace sandkeep {
namespace {

namespace v1 = agent::v1;
using testing::HasSubstr;
using testing::Not;

class CtlTest : public testing::Test {
 protected:
  absl::StatusOr<std::string> Run(std::vector<std::string> words, CtlOptions options = {}) {
    boost::asio::io_context io;
    auto result = boost::asio::co_spawn(
        io, RunCtlCommand(agent_, clock_, options, std::move(words)), boost::asio::use_future);
    io.run();
    return result.get();
  }

  v1::Sandbox Sandbox(const std::string& label) const {
    v1::Sandbox sandbox;
    sandbox.set_label(label);
    sandbox.set_principal("key-0123");
    sandbox.set_state(v1::Sandbox::FROZEN);
    sandbox.set_key("amber-otter-aaaaaaaaaaaaaaaa");
    sandbox.set_last_used_ms(absl::ToUnixMillis(clock_.Now() - absl::Minutes(90)));
    return sandbox;
  }

  FakeAgentClient agent_;
  FakeClock clock_;
};

TEST_F(CtlTest, ListsEveryonesSandboxes) {
  v1::ListSandboxesResponse response;
  *response.add_sandboxes() = Sandbox("amber-otter");
  response.set_total(7);
  agent_.list_sandboxes.Answer(response);
  const auto text = Run({"ls"});
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_THAT(*text, HasSubstr("amber-otter  frozen"));
  EXPECT_THAT(*text, HasSubstr("1h30m ago"));
  EXPECT_THAT(*text, HasSubstr("and 6 more"));
  EXPECT_EQ(agent_.list_sandboxes.requests()[0].principal(), "");
}

TEST_F(CtlTest, ALabelCannotCommandTheTerminal) {
  v1::ListSandboxesResponse response;
  *response.add_sandboxes() = Sandbox("x\x1b[2J\n\u00e4");
  agent_.list_sandboxes.Answer(response);
  const auto text = Run({"ls"});
  ASSERT_TRUE(text.ok());
  EXPECT_THAT(*text, Not(HasSubstr("\x1b")));
  EXPECT_THAT(*text, HasSubstr("x?[2J?\u00e4"));
}

TEST_F(CtlTest, JsonIsOneLineThatAMachineReads) {
  v1::ListSandboxesResponse response;
  *response.add_sandboxes() = Sandbox("amber-otter");
  agent_.list_sandboxes.Answer(response);
  const auto text = Run({"ls"}, {.json = true, .dry_run = false, .files = false});
  ASSERT_TRUE(text.ok()) << text.status();
  const auto json = boost::json::parse(*text);
  EXPECT_EQ(json.at("sandboxes").at(0).at("label").as_string(), "amber-otter");
  EXPECT_EQ(json.at("sandboxes").at(0).at("running_jobs").as_int64(), 0);
  EXPECT_EQ(std::count(text->begin(), text->end(), '\n'), 1);
}

TEST_F(CtlTest, InfoNamesWhatIsWrongWithTheHost) {
  v1::Info info;
  info.set_version("1");
  info.add_problems("podman isn't installed: apt-get install podman");
  agent_.get_info.Answer(info);
  EXPECT_THAT(*Run({"info"}), HasSubstr("podman isn't installed"));
}

TEST_F(CtlTest, RemovesOneSandboxAndKeepsItsFiles) {
  v1::RemoveSandboxResponse response;
  response.set_container_removed(true);
  agent_.remove_sandbox.Answer(response);
  EXPECT_THAT(*Run({"rm", "key-0123", "Amber Otter"}), HasSubstr("files are kept"));
  const auto request = agent_.remove_sandbox.requests()[0];
  EXPECT_EQ(request.sandbox().principal(), "key-0123");
  EXPECT_EQ(request.sandbox().label(), "Amber Otter");
  EXPECT_FALSE(request.remove_volume());
}

TEST_F(CtlTest, RemovesTheFilesOnlyIfTold) {
  v1::RemoveSandboxResponse response;
  response.set_volume_removed(true);
  agent_.remove_sandbox.Answer(response);
  EXPECT_EQ(*Run({"rm", "key-0123", "otter"}, {.json = false, .dry_run = false, .files = true}),
            "removed, with its files\n");
  EXPECT_TRUE(agent_.remove_sandbox.requests()[0].remove_volume());
  EXPECT_TRUE(absl::IsInvalidArgument(
      Run({"gc"}, {.json = false, .dry_run = true, .files = true}).status()));
}

TEST_F(CtlTest, FreezesAndThawsOneSandbox) {
  agent_.freeze.Answer(Sandbox("amber-otter"));
  agent_.thaw.Fail(absl::FailedPreconditionError("it is busy"));
  EXPECT_EQ(*Run({"freeze", "key-0123", "Amber Otter"}), "amber-otter is frozen\n");
  EXPECT_EQ(agent_.freeze.requests()[0].sandbox().label(), "Amber Otter");
  EXPECT_EQ(Run({"thaw", "key-0123", "amber-otter"}).status().message(), "it is busy");
}

TEST_F(CtlTest, ADryRunSaysWhatWouldGoAndWhy) {
  v1::CollectGarbageResponse response;
  auto* const decision = response.add_decisions();
  decision->set_kind(v1::CollectGarbageResponse::Decision::VOLUME);
  decision->set_name("sandkeep-x");
  decision->set_remove(true);
  decision->set_reason("unused for 8 days");
  decision->set_bytes(3 << 20);
  response.set_dry_run(true);
  agent_.collect_garbage.Answer(response);
  const auto text = Run({"gc"}, {.json = false, .dry_run = true, .files = false});
  EXPECT_THAT(*text, HasSubstr("would remove"));
  EXPECT_THAT(*text, HasSubstr("3.0 MiB"));
  EXPECT_THAT(*text, HasSubstr("unused for 8 days"));
  EXPECT_TRUE(agent_.collect_garbage.requests()[0].dry_run());
}

TEST_F(CtlTest, TheAgentsRefusalIsPassedOn) {
  agent_.get_info.Fail(absl::PermissionDeniedError("not for you"));
  EXPECT_EQ(Run({"info"}).status(), absl::PermissionDeniedError("not for you"));
}

TEST_F(CtlTest, WrongWordsAskTheAgentNothing) {
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {}, {"list"}, {"ls", "x"}, {"rm"}, {"rm", "a"}, {"rm", "a", "b", "c"}, {"info", "x"}}) {
    const auto answer = Run(words);
    EXPECT_TRUE(absl::IsInvalidArgument(answer.status()));
    EXPECT_THAT(std::string(answer.status().message()), HasSubstr("usage:"));
  }
  EXPECT_TRUE(absl::IsInvalidArgument(
      Run({"ls"}, {.json = false, .dry_run = true, .files = false}).status()));
}

}  // namespace
}  // namespace sandkeep
