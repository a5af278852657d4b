#include "agent/runtime/network_filter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace sandkeep {
namespace {

using testing::Contains;
using testing::HasSubstr;

AddressRanges Ranges(const std::vector<std::string>& entries) {
  return *AddressRanges::Make("NETWORK_ALLOW", entries);
}

bool Contain(const AddressRanges& ranges, std::string_view address) {
  return ranges.Contain(*ParseIpAddress(address));
}

class ResolvConfTest : public testing::Test {
 protected:
  ResolvConfTest() {
    std::string name = testing::TempDir() + "/resolv.XXXXXX";
    folder_ = ::mkdtemp(name.data());
  }
  ~ResolvConfTest() override { std::filesystem::remove_all(folder_); }

  AddressRanges Read(std::string_view text) {
    std::ofstream(folder_ + "/real") << text;
    return WithResolvers({}, folder_ + "/real");
  }

  std::string folder_;
};

TEST_F(ResolvConfTest, ItsServersAreExpectedWhateverStandsAroundThem) {
  const AddressRanges expected = Read(
      "# nameserver 10.0.0.1\nnameserver 192.168.1.1\nnameserver\t fd00::53 # ours\n"
      "nameserver fe80::1%eth0\nsearch lan\nnameserver\nnameserver \nnameservers 10.0.0.2\n");
  EXPECT_TRUE(Contain(expected, "192.168.1.1"));
  EXPECT_TRUE(Contain(expected, "fd00::53"));
  EXPECT_TRUE(Contain(expected, "fe80::1"));
  EXPECT_FALSE(Contain(expected, "192.168.1.2"));
  EXPECT_FALSE(Contain(expected, "10.0.0.1"));
  EXPECT_FALSE(Contain(expected, "10.0.0.2"));
}

TEST_F(ResolvConfTest, ALinkIsFollowedAndAMissingFileNamesNobody) {
  Read("nameserver 192.168.1.1\n");
  std::filesystem::create_symlink("real", folder_ + "/link");
  EXPECT_TRUE(Contain(WithResolvers({}, folder_ + "/link"), "192.168.1.1"));
  EXPECT_FALSE(Contain(WithResolvers({}, folder_ + "/missing"), "192.168.1.1"));
}

TEST(NetworkFilterTest, WhatIsDeniedHasTheHostsOwnAddressesAndEachRange) {
  const std::vector<std::string> denied = DeniedAddresses();
  for (const char* const address : {"127.0.0.1", "::1", "169.254.169.254", "192.168.255.254"}) {
    EXPECT_THAT(denied, Contains(address));
  }
  for (const std::string& address : denied) EXPECT_TRUE(ParseIpAddress(address)) << address;
}

// No filter holds here: what a process can reach is found to be reached.
TEST(NetworkFilterTest, AnAddressThatIsReachedIsNamedWithTheRemedy) {
  const absl::Status status = CheckDenied({"127.0.0.1"}, {});
  EXPECT_TRUE(absl::IsFailedPrecondition(status));
  for (const char* const part : {"127.0.0.1", "sandkeep-netdeny.service", "full", "none"}) {
    EXPECT_THAT(std::string(status.message()), HasSubstr(part));
  }
}

TEST(NetworkFilterTest, WhatTheOperatorAllowsIsNotTried) {
  EXPECT_TRUE(CheckDenied({"127.0.0.1", "127.255.255.254"}, Ranges({"127.0.0.0/8"})).ok());
  EXPECT_FALSE(CheckDenied({"127.0.0.1"}, Ranges({"10.0.0.0/8"})).ok());
}

TEST(NetworkFilterTest, WhereNoWayLeadsNothingIsReached) {
  // The loopback's interface has no link-local neighbours.
  EXPECT_TRUE(CheckDenied({"fe80::1%nowhere"}, {}).ok());
}

}  // namespace
}  // namespace sandkeep
