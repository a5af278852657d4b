// What travels through the client comes back as it was, or not at all.
#include "gateway/mcp/questions.h"

#include <gtest/gtest.h>

#include "common/limits.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fakes/fake_random.h"

namespace sandkeep::mcp {
namespace {

class StateSealTest : public testing::Test {
 protected:
  FakeRandom random_;
  FakeClock clock_;
  StateSeal seal_{random_, clock_};
};

TEST_F(StateSealTest, ComesBackAsItWas) {
  for (const std::string& state : {std::string("asked"), std::string("a b\0c", 5)}) {
    EXPECT_EQ(*seal_.Open("key-one tools/call x", seal_.Close("key-one tools/call x", state)),
              state);
  }
}

TEST_F(StateSealTest, IsGoodForNothingAndNobodyElse) {
  const std::string sealed = seal_.Close("key-one tools/call x", "asked");
  for (const std::string_view other :
       {"key-two tools/call x", "key-one prompts/get x", "key-one tools/call xa", ""}) {
    EXPECT_TRUE(absl::IsInvalidArgument(seal_.Open(other, sealed).status())) << other;
  }
  StateSeal after_a_restart(random_, clock_);
  EXPECT_FALSE(after_a_restart.Open("key-one tools/call x", sealed).ok());
}

TEST_F(StateSealTest, OneChangedCharacterIsSeen) {
  const std::string sealed = seal_.Close("x", "asked");
  for (std::size_t i = 0; i < sealed.size(); ++i) {
    std::string changed = sealed;
    changed[i] = changed[i] == 'A' ? 'B' : 'A';
    EXPECT_FALSE(seal_.Open("x", changed).ok()) << i;
  }
  for (const std::string& wrong : {std::string(), sealed + "-TAMPERED", sealed.substr(4),
                                   std::string(kMaxRequestStateBytes + 4, 'A')}) {
    EXPECT_FALSE(seal_.Open("x", wrong).ok());
  }
}

TEST_F(StateSealTest, IsOverAfterAWhile) {
  const std::string sealed = seal_.Close("x", "asked");
  clock_.Advance(absl::FromChrono(kRequestStateLifetime));
  EXPECT_TRUE(seal_.Open("x", sealed).ok());
  clock_.Advance(absl::Seconds(1));
  EXPECT_FALSE(seal_.Open("x", sealed).ok());
}

}  // namespace
}  // namespace sandkeep::mcp
