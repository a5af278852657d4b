// A context that is misread would tell an operator to load what is loaded, or keep quiet where it
// isn't.

#include "common/selinux_domain.h"

#include <gtest/gtest.h>

namespace sandkeep {
namespace {

TEST(SelinuxDomainTest, IsTheTypeOfAContext) {
  EXPECT_EQ(SelinuxDomain("system_u:system_r:sandkeep_agent_t:s0"), "sandkeep_agent_t");
  EXPECT_EQ(SelinuxDomain(std::string_view("system_u:system_r:initrc_t:s0:c1,c2\0", 36)),
            "initrc_t");
  EXPECT_EQ(SelinuxDomain("a:b:c\n"), "c");
}

TEST(SelinuxDomainTest, IsNothingWhereAnotherModuleSpeaksOrNone) {
  for (const std::string_view other : {"", "unconfined\n", "docker-default (enforce)",
                                       ":ns://profile (complain)", "kernel", "a:", "a::c"}) {
    EXPECT_EQ(SelinuxDomain(other), "") << other;
  }
}

}  // namespace
}  // namespace sandkeep
