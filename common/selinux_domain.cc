#include "common/selinux_domain.h"

#include <fstream>

#include "common/log.h"

namespace sandkeep {

std::string_view SelinuxDomain(std::string_view context) {
  // USER:ROLE:TYPE[:LEVEL]. Another security module's word has no such fields.
  const std::size_t user = context.find(':');
  if (user == std::string_view::npos || user == 0) return {};
  const std::size_t role = context.find(':', user + 1);
  if (role == std::string_view::npos || role == user + 1) return {};
  const std::string_view domain = context.substr(role + 1);
  return domain.substr(0, domain.find_first_of(std::string_view(":\n\0", 3)));
}

void ReportSelinuxDomain(std::string_view expected) {
  std::string context;
  std::ifstream file("/proc/self/attr/current");
  std::getline(file, context);
  const std::string_view domain = SelinuxDomain(context);
  // A container's domain is a narrow one, too.
  if (domain == expected || domain == "container_t") {
    Log(Severity::kInfo, "selinux", {{"domain", domain}});
  } else if (domain.empty()) {
    Log(Severity::kInfo, "selinux.off",
        {{"what", "only its user, its unit and what it gave up hold this process"},
         {"remedy", "where that matters, boot with SELinux and run deploy/selinux/install.sh"}});
  } else {
    Log(Severity::kWarning, "selinux.domain",
        {{"domain", domain},
         {"wanted", expected},
         {"remedy", "run deploy/selinux/install.sh and restart the unit"}});
  }
}

}  // namespace sandkeep
