#include "common/random.h"

#include <sys/random.h>

#include <cerrno>
#include <cstdlib>

namespace sandkeep {
namespace {

class KernelRandom final : public Random {
 public:
  void Fill(absl::Span<std::uint8_t> bytes) override {
    while (!bytes.empty()) {
      const ssize_t count = ::getrandom(bytes.data(), bytes.size(), 0);
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) std::abort();
      bytes.remove_prefix(static_cast<std::size_t>(count));
    }
  }
};

}  // namespace

Random& SystemRandom() {
  static KernelRandom random;
  return random;
}

}  // namespace sandkeep
