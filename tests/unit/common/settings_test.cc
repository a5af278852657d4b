// An operator's mistake must be named before anything starts, all of them at once.

#include "common/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <string>

namespace sandkeep {
namespace {

using testing::HasSubstr;

class SettingsTest : public testing::Test {
 protected:
  void SetUp() override { path_ = testing::TempDir() + "settings_test.env"; }
  void TearDown() override { std::remove(path_.c_str()); }

  SettingSources File(const std::string& text) {
    std::ofstream(path_) << text;
    return {
        .process = Process::kAgent, .env_file = path_, .environment = {}, .flags = {}, .check = {}};
  }

  std::string path_;
};

TEST_F(SettingsTest, DefaultsFollowTheProfile) {
  const Settings conversation = Settings::Load({}).value();
  EXPECT_EQ(conversation.Int("SANDBOX_MAX_TIMEOUT"), 900);
  EXPECT_EQ(conversation.Int("SANDBOX_MEMORY"), 1LL << 30);

  const Settings persistent = Settings::Load(File("SANDBOX_PROFILE=persistent\n")).value();
  EXPECT_EQ(persistent.Int("SANDBOX_MAX_TIMEOUT"), 3600);
  EXPECT_TRUE(persistent.persistent());
}

TEST_F(SettingsTest, EveryDefaultIsAValueItWouldAccept) {
  for (const SettingSpec& spec : SettingTable()) {
    for (const std::string_view value : {spec.conversation_default, spec.persistent_default}) {
      SettingSources sources{
          .process = spec.process, .env_file = "", .environment = {}, .flags = {}, .check = {}};
      sources.flags.emplace_back(spec.name, value);
      EXPECT_TRUE(Settings::Load(sources).ok()) << spec.name;
    }
  }
}

TEST_F(SettingsTest, LaterSourcesWin) {
  SettingSources sources = File("SANDBOX_IDLE=60\nSANDBOX_PIDS=100\n");
  sources.environment = {{"SANDBOX_IDLE", "61"}, {"HOME", "/nowhere"}};
  sources.flags = {{"SANDBOX_IDLE", "62"}};
  const Settings settings = Settings::Load(sources).value();
  EXPECT_EQ(settings.Int("SANDBOX_IDLE"), 62);
  EXPECT_EQ(settings.Int("SANDBOX_PIDS"), 100);
}

TEST_F(SettingsTest, NamesEveryMistakeAtOnce) {
  const absl::Status status = Settings::Load(File("SANDBOX_IDEL=60\nSANDBOX_PIDS=many\nSANDBOX_"
                                                  "MEMORY=1\nSANDBOX_NETWORK=lan\nnonsense\n"))
                                  .status();
  const std::string message(status.message());
  for (const char* part :
       {"SANDBOX_IDEL: no such setting", "SANDBOX_PIDS=many", "SANDBOX_MEMORY=1: must be from",
        "SANDBOX_NETWORK=lan: must be one of internet, full, none", ":5: expected NAME=value"}) {
    EXPECT_THAT(message, HasSubstr(part));
  }
}

TEST_F(SettingsTest, WhatTheTableCantJudgeIsNamedBesideTheRest) {
  SettingSources sources = File("SANDBOX_PIDS=many\n");
  sources.check = [](const Settings& read) {
    return absl::InvalidArgumentError(read.IsSet("AGENT_SOCKET") ? "one line\nand another" : "");
  };
  const std::string message(Settings::Load(sources).status().message());
  EXPECT_THAT(message, HasSubstr("SANDBOX_PIDS=many"));
  EXPECT_THAT(message, HasSubstr("\none line\nand another"));
}

TEST_F(SettingsTest, PassesOverTheOtherProcessesSettings) {
  EXPECT_TRUE(Settings::Load(File("SANDBOX_PORT=9\nSANDBOX_IDLE=60\n")).ok());
}

TEST_F(SettingsTest, OldNamesWorkWithAWarning) {
  const Settings settings = Settings::Load(File("EXEC_TIMEOUT=120\n")).value();
  EXPECT_EQ(settings.Int("SANDBOX_MAX_TIMEOUT"), 120);
  ASSERT_EQ(settings.warnings().size(), 1U);
  EXPECT_THAT(settings.warnings()[0], HasSubstr("SANDBOX_MAX_TIMEOUT"));
}

TEST_F(SettingsTest, WhatHasNoMeaningHereIsPassedOverWithAWarning) {
  const std::string file =
      "SANDBOX_CONTAINER=mcp-sandbox-persistent\nSANDBOX_VOLUME=mcp-sandbox-data\n"
      "OAUTH_STATE_FILE=oauth-state.json\n";
  const absl::StatusOr<Settings> settings = Settings::Load(File(file));
  ASSERT_TRUE(settings.ok()) << settings.status();
  ASSERT_EQ(settings->warnings().size(), 2U) << "the third is the gateway's";
  EXPECT_THAT(settings->warnings()[0], HasSubstr("SANDBOX_CONTAINER changes nothing"));
}

TEST_F(SettingsTest, ReadsQuotesCommentsAndUnits) {
  const Settings settings =
      Settings::Load(File("# a comment\n; another\n\nSANDBOX_MEMORY = \"2g\"\n")).value();
  EXPECT_EQ(settings.Int("SANDBOX_MEMORY"), 2LL << 30);
}

TEST_F(SettingsTest, AMissingFileIsAMistake) {
  SettingSources sources;
  sources.env_file = "/nonexistent/agent.env";
  EXPECT_THAT(std::string(Settings::Load(sources).status().message()),
              HasSubstr("/nonexistent/agent.env"));
}

TEST(ParseNumberTest, RefusesWhatOverflowsOrIsNotWhole) {
  EXPECT_EQ(ParseNumber("64m").value(), 64LL << 20);
  for (const char* text : {"", "k", "-1", "1.5", "1t", "9223372036854775807k", "0x10", " 1"}) {
    EXPECT_FALSE(ParseNumber(text).ok()) << text;
  }
}

}  // namespace
}  // namespace sandkeep
