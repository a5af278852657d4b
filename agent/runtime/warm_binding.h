// What stands beside a volume that is nobody's yet: the only binding that another may replace.
#pragma once

#include <string_view>

namespace sandkeep {

inline constexpr std::string_view kWarmBinding = "sandkeep-warm 1\n";

}  // namespace sandkeep
