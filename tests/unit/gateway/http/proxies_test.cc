#include "gateway/http/proxies.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sandkeep::http {
namespace {

Proxies Trusting(std::vector<std::string> entries) { return *Proxies::Make(entries); }

TEST(ProxiesTest, WithoutAnyNobodyIsBelieved) {
  EXPECT_EQ(Trusting({}).ClientOf("127.0.0.1", "203.0.113.9"), "127.0.0.1");
}

TEST(ProxiesTest, AStrangerIsNotBelieved) {
  EXPECT_EQ(Trusting({"127.0.0.1"}).ClientOf("198.51.100.1", "203.0.113.9"), "198.51.100.1");
}

TEST(ProxiesTest, AProxyIsBelievedInWhomItHasSeenAndNotInWhatThatOneClaimed) {
  const Proxies proxies = Trusting({"127.0.0.1", "10.0.0.0/8"});
  EXPECT_EQ(proxies.ClientOf("127.0.0.1", "1.1.1.1, 203.0.113.9"), "203.0.113.9");
  EXPECT_EQ(proxies.ClientOf("127.0.0.1", "1.1.1.1, 203.0.113.9, 10.1.2.3"), "203.0.113.9");
}

TEST(ProxiesTest, WhereAllAreProxiesTheFarthestIsTheClient) {
  EXPECT_EQ(Trusting({"10.0.0.0/8"}).ClientOf("10.0.0.1", "10.0.0.3,10.0.0.2"), "10.0.0.3");
}

TEST(ProxiesTest, WhatIsNoAddressEndsTheSearch) {
  const Proxies proxies = Trusting({"127.0.0.1", "10.0.0.0/8"});
  EXPECT_EQ(proxies.ClientOf("127.0.0.1", "unknown"), "127.0.0.1");
  EXPECT_EQ(proxies.ClientOf("127.0.0.1", "1.1.1.1, _hidden, 10.0.0.2"), "10.0.0.2");
  EXPECT_EQ(proxies.ClientOf("127.0.0.1", " , "), "127.0.0.1");
  EXPECT_EQ(proxies.ClientOf("127.0.0.1", "["), "127.0.0.1");
}

TEST(ProxiesTest, PortsAndBracketsAreLeftOut) {
  const Proxies proxies = Trusting({"::1"});
  EXPECT_EQ(proxies.ClientOf("::1", "203.0.113.9:4711"), "203.0.113.9");
  EXPECT_EQ(proxies.ClientOf("::1", "[2001:db8::7]:4711"), "2001:db8::7");
  EXPECT_EQ(proxies.ClientOf("::1", "2001:db8::7"), "2001:db8::7");
}

TEST(ProxiesTest, ARangeEndsAtItsBitAndKnowsIpv4InIpv6) {
  const Proxies proxies = Trusting({"192.0.2.128/25", "2001:db8::/33"});
  EXPECT_EQ(proxies.ClientOf("192.0.2.129", "1.1.1.1"), "1.1.1.1");
  EXPECT_EQ(proxies.ClientOf("::ffff:192.0.2.129", "1.1.1.1"), "1.1.1.1");
  EXPECT_EQ(proxies.ClientOf("192.0.2.127", "1.1.1.1"), "192.0.2.127");
  EXPECT_EQ(proxies.ClientOf("2001:db8:7fff::1", "1.1.1.1"), "1.1.1.1");
  EXPECT_EQ(proxies.ClientOf("2001:db8:8000::1", "1.1.1.1"), "2001:db8:8000::1");
}

TEST(ProxiesTest, EveryEntryThatIsNoneIsNamed) {
  const auto refused = Proxies::Make({"proxy.example.com", "10.0.0.0/33", "10.0.0.0/", "::/129"});
  ASSERT_FALSE(refused.ok());
  for (const char* const entry : {"proxy.example.com", "10.0.0.0/33", "`10.0.0.0/`", "::/129"}) {
    EXPECT_THAT(std::string(refused.status().message()), testing::HasSubstr(entry));
  }
}

}  // namespace
}  // namespace sandkeep::http
