#include "common/address_ranges.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sandkeep {
namespace {

AddressRanges Ranges(const std::vector<std::string>& entries) {
  return *AddressRanges::Make("NAMES", entries);
}

bool Contain(const AddressRanges& ranges, std::string_view address) {
  return ranges.Contain(*ParseIpAddress(address));
}

TEST(AddressRangesTest, ARangeEndsAtItsBitAndKnowsIpv4InIpv6) {
  const AddressRanges ranges = Ranges({"192.0.2.128/25", "2001:db8::/33", "203.0.113.7"});
  EXPECT_TRUE(Contain(ranges, "192.0.2.128"));
  EXPECT_TRUE(Contain(ranges, "::ffff:192.0.2.255"));
  EXPECT_FALSE(Contain(ranges, "192.0.2.127"));
  EXPECT_TRUE(Contain(ranges, "2001:db8:7fff::1"));
  EXPECT_FALSE(Contain(ranges, "2001:db8:8000::1"));
  EXPECT_TRUE(Contain(ranges, "203.0.113.7"));
  EXPECT_FALSE(Contain(ranges, "203.0.113.8"));
}

TEST(AddressRangesTest, ARangeOfNoBitsHasAllOfItsKindAndNoneOfTheOther) {
  EXPECT_TRUE(Contain(Ranges({"0.0.0.0/0"}), "203.0.113.7"));
  EXPECT_FALSE(Contain(Ranges({"0.0.0.0/0"}), "2001:db8::1"));
  EXPECT_FALSE(Contain(Ranges({}), "203.0.113.7"));
}

TEST(AddressRangesTest, EveryEntryThatIsNoneIsNamedWithItsSetting) {
  const auto refused =
      AddressRanges::Make("NAMES", {"host.example", "10.0.0.0/33", "10.0.0.0/", "::/129", "1.2"});
  ASSERT_FALSE(refused.ok());
  for (const char* const part :
       {"NAMES", "host.example", "10.0.0.0/33", "`10.0.0.0/`", "::/129", "`1.2`"}) {
    EXPECT_THAT(std::string(refused.status().message()), testing::HasSubstr(part));
  }
}

TEST(AddressRangesTest, AZoneIsLeftOutAndWhatIsNoAddressIsNotAdded) {
  AddressRanges ranges;
  ranges.AddAddress("fe80::1%eth0");
  ranges.AddAddress("nobody");
  EXPECT_TRUE(Contain(ranges, "fe80::1%wlan0"));
  EXPECT_FALSE(Contain(ranges, "fe80::2"));
  EXPECT_FALSE(ParseIpAddress("").has_value());
  EXPECT_FALSE(ParseIpAddress("127.0.0.1:80").has_value());
}

}  // namespace
}  // namespace sandkeep
