// Whether SELinux holds this process to the domain that deploy/selinux gives it. A machine without
// SELinux is no fault; one that has it and doesn't know the module leaves a process of ours with
// whatever it grants to any service.
#pragma once

#include <string>
#include <string_view>

namespace sandkeep {

// The domain in a context as /proc/self/attr/current has it; empty: no context of SELinux's.
std::string_view SelinuxDomain(std::string_view context);

// Says in the log which domain this process is in, and the remedy where it isn't `expected`. Any
// thread.
void ReportSelinuxDomain(std::string_view expected);

}  // namespace sandkeep
