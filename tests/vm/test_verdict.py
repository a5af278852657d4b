"""What the whole run was denied. The last file in the alphabet: the others have done by then what they do."""

import re

# "permissive=1" is of the tests that turn enforcing off.
OURS = re.compile(r"scontext=\S*:(sandkeep_\w+|podman\w*|container_t):")


def test_selinux_denied_nothing_that_anything_of_ours_needed(host):
    assert host.run("getenforce") == "Enforcing\n"
    # The log was kept: there are messages of this very run in it.
    said = host.run("grep -c type= /var/log/audit/audit.log && cat /var/log/audit/audit.log* | grep -E 'avc: +denied' || true", 300)
    assert re.match(r"[1-9]\d*\n", said), said
    denied = [line for line in said.splitlines() if "permissive=0" in line and OURS.search(line)]
    assert not denied, "\n".join(denied[:40])
