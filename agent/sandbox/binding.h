// Which sandbox a volume belongs to, as it stands beside the volume's data, and how a sandbox's key
// is made. The text is what brings sandboxes back when the database is lost; nothing inside a
// sandbox can reach it. Plain values; any thread.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/ids.h"
#include "common/label.h"
#include "common/secret.h"

namespace sandkeep {

// Slug and HMAC-SHA-256(secret, principal NUL label): two labels get one key only if they are one,
// and nobody without the secret can search for a pair that collides.
SandboxKey MakeSandboxKey(const Secret& secret, const PrincipalId& principal, const Label& label);

struct Binding {
  SandboxKey key;
  PrincipalId principal;
  Label label;
  Generation generation;
  absl::Time created;  // To the millisecond.

  friend bool operator==(const Binding&, const Binding&) = default;
};

// Six lines: `sandkeep-binding 1`, then `key`, `principal`, `label`, `generation` and `created`
// (Unix milliseconds), a space before each value.
std::string FormatBinding(const Binding& binding);

// Takes exactly what FormatBinding makes, at most kMaxBindingBytes. InvalidArgument otherwise.
absl::StatusOr<Binding> ParseBinding(std::string_view text);

}  // namespace sandkeep
