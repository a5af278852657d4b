// What a command gets and what comes back of it.

#include <gmock/gmock.h>
#include <sys/wait.h>

#include <string>

#include "common/limits.h"
#include "tests/unit/agent/init/init_test.h"

namespace sandkeep::init {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;

class CommandTest : public InitTest {
 protected:
  std::string OutputOf(std::string_view command, const StartOptions& options = {}) {
    std::string output;
    outcome_ = agent_->RunToEnd(command, &output, options);
    return output;
  }
  int ExitOf(std::string_view command) { return agent_->RunToEnd(command).exit_code(); }

  Outcome outcome_;
};

TEST_F(CommandTest, ReportsTheExitCodeOfTheCommand) {
  EXPECT_EQ(ExitOf("true"), 0);
  EXPECT_EQ(ExitOf("false"), 1);
  EXPECT_EQ(ExitOf("exit 42"), 42);
  EXPECT_EQ(ExitOf(""), 0);
}

TEST_F(CommandTest, NamesAnUnknownCommandAsBashDoes) {
  EXPECT_EQ(OutputOf("no-such-program"), "bash: line 1: no-such-program: command not found\n");
  EXPECT_EQ(outcome_.exit_code(), 127);
}

TEST_F(CommandTest, ReportsTheSignalThatEndedTheCommand) {
  EXPECT_EQ(agent_->RunToEnd("kill -SEGV $$").signal(), SIGSEGV);
}

TEST_F(CommandTest, IsBashWithAllOfItsLanguage) {
  EXPECT_EQ(OutputOf("[[ abc == a* ]] && a=(one two) && echo ${#a[@]} ${a[1]}"), "2 two\n");
  EXPECT_EQ(ExitOf("set -o pipefail; false | true"), 1);
  EXPECT_EQ(OutputOf("echo one\necho two # a comment"), "one\ntwo\n");
  EXPECT_EQ(OutputOf("cat <<'X'\n$HOME\nX\n"), "$HOME\n");
  EXPECT_EQ(OutputOf("shopt -q login_shell && echo login"), "login\n");
}

TEST_F(CommandTest, KeepsBothStreamsInOrderOrApart) {
  EXPECT_EQ(OutputOf("echo a; echo b >&2; echo c"), "a\nb\nc\n");
  const RunningJob job = agent_->Start("echo out; echo err >&2", {.merge_streams = false});
  EXPECT_EQ(ReadAll(job.output), "out\n");
  EXPECT_EQ(ReadAll(job.error_output), "err\n");
  agent_->WaitGone(job);
}

TEST_F(CommandTest, ReadsNothingUnlessItWasGivenInput) {
  EXPECT_EQ(OutputOf("cat; readlink /proc/self/fd/0"), "/dev/null\n");
  RunningJob job = agent_->Start("read -r line; echo \"got $line\"", {.stdin_pipe = true});
  ASSERT_EQ(::write(job.input.get(), "hello\n", 6), 6);
  EXPECT_EQ(ReadAll(job.output), "got hello\n");
  agent_->WaitGone(job);
}

TEST_F(CommandTest, StartsInTheWorkspaceOrWhereItIsTold) {
  EXPECT_EQ(OutputOf("pwd"), init_->workspace().string() + "\n");
  EXPECT_EQ(OutputOf("pwd; echo $PWD", {.cwd = "/usr/bin/.."}), "/usr\n/usr\n");
  EXPECT_EQ(OutputOf("mkdir sub"), "");
  EXPECT_EQ(OutputOf("pwd", {.cwd = "sub"}), init_->workspace().string() + "/sub\n");
}

TEST_F(CommandTest, RefusesAFolderThatCannotBeEntered) {
  const RunningJob job = agent_->Begin("true", {.cwd = "/no/such/folder"});
  const v1::Refused refused = agent_->WaitRefused(job.id);
  EXPECT_EQ(refused.reason(), v1::Refused::BAD_CWD);
  EXPECT_EQ(refused.error(), ENOENT);
  EXPECT_EQ(ReadAll(job.output), "");
  ExpectInitServes();
}

TEST_F(CommandTest, HasAnEnvironmentOfOursWithTheCallersOverIt) {
  const std::string plain = OutputOf("env");
  for (const char* expected :
       {"HOME=/root\n", "USER=root\n", "SHELL=/bin/bash\n", "LANG=C.UTF-8\n", "TERM=dumb\n",
        "PAGER=cat\n", "DEBIAN_FRONTEND=noninteractive\n", "PATH=/"}) {
    EXPECT_THAT(plain, HasSubstr(expected));
  }
  EXPECT_EQ(OutputOf("echo $LANG $WORD", {.env = {{"LANG", "C"}, {"WORD", "a b"}}}), "C a b\n");
}

TEST_F(CommandTest, HasNoDescriptorButItsThree) {
  // The fourth is the listing's own.
  EXPECT_EQ(OutputOf("cd /proc/self/fd; echo *"), "0 1 2 3\n");
  EXPECT_EQ(OutputOf("bash -c 'cd /proc/self/fd; echo *'"), "0 1 2 3\n");
}

// 32 and 33 are the C library's own: posix_spawn leaves them ignored.
TEST_F(CommandTest, HasSignalsAsAProgramExpectsThem) {
  EXPECT_THAT(OutputOf("grep -E 'Sig(Blk|Ign)' /proc/self/status"),
              MatchesRegex("SigBlk:\t0{16}\nSigIgn:\t0{7}[01][08]0{7}\n"));
}

TEST_F(CommandTest, RunsInASessionOfItsOwn) {
  EXPECT_EQ(OutputOf("read -r pid x x x pgrp sid x < /proc/$$/stat; [ $pid = $pgrp ] && "
                     "[ $pid = $sid ] && echo leader"),
            "leader\n");
}

TEST_F(CommandTest, TakesACommandOfAnySizeUpToTheLimit) {
  for (const std::size_t size : {std::size_t{200} << 10, kMaxCommandBytes}) {
    std::string command = "echo ok\n";
    command.append(size - command.size() - 5, '#');
    command += "\nx=1\n";
    EXPECT_EQ(OutputOf(command), "ok\n") << size;
  }
}

TEST_F(CommandTest, KeepsBytesThatAreNotUtf8) {
  EXPECT_EQ(OutputOf("printf %s '\xff\xfe\xc3\xa4\xe2\x82'"), "\xff\xfe\xc3\xa4\xe2\x82");
}

TEST_F(CommandTest, SurvivesANulInACommand) {
  using std::string_literals::operator""s;
  EXPECT_EQ(OutputOf("echo before\n\0echo after"s), "before\n");
  ExpectInitServes();
}

// Every user of the host can read argument vectors, and the environment of what runs as the same
// user.
TEST_F(CommandTest, NeverShowsTheCommandInProc) {
  const std::string look =
      ": sEcReT-wOrD; sleep 100 & for f in /proc/[0-9]*/cmdline /proc/[0-9]*/environ; do "
      "tr '\\0' '\\n' < $f 2>/dev/null; done; kill %1";
  for (const char* name : {"c", "__sandkeep", "BASH_EXECUTION_STRING"}) {
    const std::string seen = OutputOf(look, {.env = {{name, "x"}}});
    EXPECT_THAT(seen, HasSubstr("bash"));
    EXPECT_THAT(seen, Not(HasSubstr("sEcReT-wOrD"))) << name;
  }
}

TEST_F(CommandTest, ObeysSettingsOfTheShellInItsEnvironment) {
  EXPECT_EQ(OutputOf("echo on; false; echo never", {.env = {{"SHELLOPTS", "errexit"}}}), "on\n");
  EXPECT_EQ(outcome_.exit_code(), 1);
}

}  // namespace
}  // namespace sandkeep::init
