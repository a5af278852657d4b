// What a listing shows of a command. Pure; any thread.
#pragma once

#include <string>

namespace sandkeep {

// Its first kCommandHeadChars characters, in valid UTF-8.
std::string HeadOf(const std::string& command);

}  // namespace sandkeep
