// The one table of codes, base32, digests and the log's escaping.

#include <gtest/gtest.h>

#include <cerrno>
#include <string>
#include <string_view>
#include <type_traits>

#include "absl/strings/escaping.h"
#include "common/base32.h"
#include "common/digest.h"
#include "common/log.h"
#include "common/secret.h"
#include "common/status_codes.h"
#include "common/strings.h"

namespace sandkeep {
namespace {

TEST(StatusCodesTest, EveryCodeHasItsRow) {
  for (int code = 0; code <= 16; ++code) {
    EXPECT_EQ(static_cast<int>(CodesOf(static_cast<absl::StatusCode>(code)).code), code);
  }
  EXPECT_EQ(CodesOf(static_cast<absl::StatusCode>(99)).code, absl::StatusCode::kUnknown);
}

TEST(StatusCodesTest, ErrnoSaysWhatFailed) {
  const absl::Status status = ErrnoStatus(ENOENT, "open x");
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(status.message(), "open x: No such file or directory");
}

TEST(Base32Test, MatchesTheRfcsVectors) {
  EXPECT_EQ(Base32(""), "");
  EXPECT_EQ(Base32("f"), "my");
  EXPECT_EQ(Base32("foobar"), "mzxw6ytboi");
  EXPECT_TRUE(IsBase32("mzxw6ytboi"));
  EXPECT_FALSE(IsBase32("mz1"));
}

TEST(DigestTest, MatchesPublishedVectors) {
  EXPECT_EQ(absl::BytesToHexString(Sha256("abc")),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(absl::BytesToHexString(HmacSha256("Jefe", "what do ya want for nothing?")),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_TRUE(EqualInConstantTime("abc", "abc"));
  EXPECT_FALSE(EqualInConstantTime("abc", "abd"));
  EXPECT_FALSE(EqualInConstantTime("abc", "abcd"));
}

TEST(LogTest, ASecretCannotBeGivenToIt) {
  static_assert(!std::is_constructible_v<LogField, std::string_view, const Secret&>);
  static_assert(!std::is_convertible_v<const Secret&, std::string_view>);
  static_assert(!std::is_convertible_v<const Secret&, std::string>);
  static_assert(std::is_constructible_v<LogField, std::string_view, const std::string&>);
}

TEST(LogTest, AValueCannotStartALineOfItsOwn) {
  testing::internal::CaptureStderr();
  Log(Severity::kWarning, "test.event", {{"value", "a\"b\nerror forged \\"}, {"count", 3}});
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "warning test.event value=\"a\\\"b\\x0aerror forged \\\\\" count=\"3\"\n");
}

TEST(StringsTest, SplitKeepsEmptyParts) {
  EXPECT_EQ(Split("a,,b", ','), (std::vector<std::string_view>{"a", "", "b"}));
  EXPECT_EQ(Split("", ','), (std::vector<std::string_view>{""}));
}

}  // namespace
}  // namespace sandkeep
