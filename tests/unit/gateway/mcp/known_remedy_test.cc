#include "gateway/mcp/tools/known_remedy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "gateway/mcp/tools/signal_name.h"

namespace sandkeep::mcp {
namespace {

using testing::HasSubstr;

TEST(KnownRemedy, AptsOwnWordsAreUnderstood) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"Reading package lists...\nE: Unable to locate package ripgrep\n", "apt-get update"},
      {"E: Package 'ripgrep' has no installation candidate\n", "apt-get update"},
      {"E: Unable to locate package python3.13\nE: Couldn't find any package by glob "
       "'python3.13'\n",
       "apt-get update"},
      {"E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 412 (apt-get)\n"
       "E: Unable to acquire the dpkg frontend lock (/var/lib/dpkg/lock-frontend), is another "
       "process using it?\n",
       "another installation runs"},
      {"E: Could not get lock /var/lib/apt/lists/lock. It is held by process 9 (apt-get)\n",
       "another installation runs"},
      {"dpkg: error: dpkg frontend lock was locked by another process with pid 7\n",
       "another installation runs"},
      {"dpkg: error: dpkg frontend lock was locked by /usr/bin/apt-get process with pid 10\n",
       "another installation runs"},
      {"E: dpkg was interrupted, you must manually run 'dpkg --configure -a' to correct the "
       "problem.\n",
       "dpkg --configure -a"},
      {"E: dpkg was interrupted, you must manually run 'dpkg --configure -a'\nE: Unable to locate "
       "package x",
       "dpkg --configure -a"},
      {"cp: error writing 'b': No space left on device\n", "delete what isn't needed"},
      {"cp: error writing 'b': Disk quota exceeded\n", "delete what isn't needed"},
      {"dpkg: error: failed to write status database: No space left on device\nE: dpkg was "
       "interrupted, you must manually run 'dpkg --configure -a'",
       "delete what isn't needed"},
  };
  for (const auto& [output, remedy] : cases) EXPECT_THAT(KnownRemedy(output), HasSubstr(remedy));
}

TEST(KnownRemedy, OtherFailuresHaveNone) {
  for (const std::string_view output :
       {"", "bash: line 1: foo: command not found\n", "E: Some files failed to download\n",
        "make: *** [all] Error 2\n"}) {
    EXPECT_EQ(KnownRemedy(output), "");
  }
}

TEST(SignalName, AsShellsAndPeopleWriteIt) {
  for (const std::string_view name : {"INT", "int", "SIGINT", "sigint", "2"}) {
    EXPECT_EQ(SignalOf(name), SIGINT) << name;
  }
  EXPECT_EQ(SignalOf("KILL"), SIGKILL);
  for (const std::string_view name :
       {"", "SIG", "NOPE", "0", "-9", "65", "TERM ", "TERMX", "999"}) {
    EXPECT_EQ(SignalOf(name), std::nullopt) << name;
  }
  EXPECT_THAT(KnownSignals(), HasSubstr("TERM, KILL, INT"));
}

}  // namespace
}  // namespace sandkeep::mcp
