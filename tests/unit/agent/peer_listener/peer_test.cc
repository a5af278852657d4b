#include "agent/peer_listener/peer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sandkeep {
namespace {

using testing::HasSubstr;

TEST(PeerTest, ReadsNamesNumbersAndPrefixes) {
  const auto peers = ParsePeers({"1234:key", "root"}, {"root", "77"});
  ASSERT_TRUE(peers.ok()) << peers.status();
  ASSERT_EQ(peers->size(), 3u);
  EXPECT_EQ((*peers)[0].uid, 1234u);
  EXPECT_EQ((*peers)[0].prefix, "key");
  EXPECT_TRUE((*peers)[0].frontend);
  EXPECT_FALSE((*peers)[0].operate);
  // In both lists: both roles.
  EXPECT_EQ((*peers)[1].uid, 0u);
  EXPECT_TRUE((*peers)[1].frontend);
  EXPECT_TRUE((*peers)[1].operate);
  EXPECT_EQ((*peers)[2].uid, 77u);
  EXPECT_FALSE((*peers)[2].frontend);
}

TEST(PeerTest, RefusesWhatIsNoUserAndNamesTheSetting) {
  for (const char* entry : {"", ":key", "no-such-user-here", "4294967295", "99999999999", "-1",
                            "1:", "1:Key", "1:a-b", "1:a:b"}) {
    const auto peers = ParsePeers({entry}, {});
    EXPECT_TRUE(absl::IsInvalidArgument(peers.status())) << entry;
    EXPECT_THAT(std::string(peers.status().message()), HasSubstr("AGENT_FRONTEND_UIDS"));
  }
  EXPECT_THAT(std::string(ParsePeers({}, {"1:key"}).status().message()),
              HasSubstr("AGENT_OPERATOR_UIDS"));
}

TEST(PeerTest, RefusesAUserTwiceInOneList) {
  EXPECT_TRUE(absl::IsInvalidArgument(ParsePeers({"0:a", "root:b"}, {}).status()));
  EXPECT_THAT(std::string(ParsePeers({"nosuchuser", "0:A"}, {"1:key"}).status().message()),
              AllOf(HasSubstr("nosuchuser"), HasSubstr("0:A"), HasSubstr("1:key")));
}

}  // namespace
}  // namespace sandkeep
