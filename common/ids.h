// The names of things. Each type can only hold a well-formed value: Parse refuses the rest with a
// message that says what was expected. Plain values; any thread.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "common/random.h"
#include "common/strings.h"

namespace sandkeep {

// Sixteen bytes whose meaning `Tag` tells apart.
template <typename Tag>
class Id128 {
 public:
  static constexpr std::size_t kBytes = 16;

  static absl::StatusOr<Id128> FromBytes(std::string_view bytes) {
    if (bytes.size() != kBytes) {
      return absl::InvalidArgumentError(StrCat(Tag::kName, " must be 16 bytes"));
    }
    return Id128(std::string(bytes));
  }
  static absl::StatusOr<Id128> FromHex(std::string_view hex);
  static Id128 Random(Random& random) { return Id128(random.Bytes(kBytes)); }

  const std::string& bytes() const { return bytes_; }
  std::string hex() const;

  friend bool operator==(const Id128&, const Id128&) = default;
  friend auto operator<=>(const Id128&, const Id128&) = default;
  template <typename H>
  friend H AbslHashValue(H state, const Id128& id) {
    return H::combine(std::move(state), id.bytes_);
  }

 private:
  explicit Id128(std::string bytes) : bytes_(std::move(bytes)) {}
  std::string bytes_;
};

struct JobIdTag {
  static constexpr std::string_view kName = "job id";
};
struct GenerationTag {
  static constexpr std::string_view kName = "generation";
};
struct InstanceTag {
  static constexpr std::string_view kName = "instance";
};

// One command, named by its caller, so that a retry finds it again.
using JobId = Id128<JobIdTag>;
// One volume's life. Links are bound to it: a key that gets a new volume serves nothing by old
// links.
using Generation = Id128<GenerationTag>;
// One agent state directory. Engine objects bear it, so that agents leave each other's alone.
using InstanceId = Id128<InstanceTag>;

// Who is calling: `<prefix>-<id>` of [a-z0-9-], at most 64 bytes. The prefix names the front end.
class PrincipalId {
 public:
  static absl::StatusOr<PrincipalId> Parse(std::string_view text);

  const std::string& text() const { return text_; }
  std::string_view prefix() const;

  friend bool operator==(const PrincipalId&, const PrincipalId&) = default;
  friend auto operator<=>(const PrincipalId&, const PrincipalId&) = default;
  template <typename H>
  friend H AbslHashValue(H state, const PrincipalId& id) {
    return H::combine(std::move(state), id.text_);
  }

 private:
  explicit PrincipalId(std::string text) : text_(std::move(text)) {}
  std::string text_;
};

// A sandbox's public name: `<slug>-<16 base32>`. The slug is for people, the rest is an HMAC that
// nobody can search for.
class SandboxKey {
 public:
  static absl::StatusOr<SandboxKey> Parse(std::string_view text);
  // For the agent only, who holds the secret: see agent/sandbox/binding.h.
  static SandboxKey Make(std::string_view slug, std::string_view mac);

  const std::string& text() const { return text_; }

  friend bool operator==(const SandboxKey&, const SandboxKey&) = default;
  friend auto operator<=>(const SandboxKey&, const SandboxKey&) = default;
  template <typename H>
  friend H AbslHashValue(H state, const SandboxKey& key) {
    return H::combine(std::move(state), key.text_);
  }

 private:
  explicit SandboxKey(std::string text) : text_(std::move(text)) {}
  std::string text_;
};

// A container's or volume's name with the engine: `sandkeep-<20 base32>`, random, so that it tells
// nothing.
class EngineName {
 public:
  static absl::StatusOr<EngineName> Parse(std::string_view text);
  static EngineName Make(Random& random);

  const std::string& text() const { return text_; }

  friend bool operator==(const EngineName&, const EngineName&) = default;
  friend auto operator<=>(const EngineName&, const EngineName&) = default;
  template <typename H>
  friend H AbslHashValue(H state, const EngineName& name) {
    return H::combine(std::move(state), name.text_);
  }

 private:
  explicit EngineName(std::string text) : text_(std::move(text)) {}
  std::string text_;
};

}  // namespace sandkeep
