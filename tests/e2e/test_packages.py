"""Packages installed as a model would type it, and what it is told where that goes wrong."""

import concurrent.futures

import pytest
from mcp_client import McpClient
from stack import wait_for
from test_jobs import field


def test_packages_install_as_a_model_would_type_it(alice, label):
    result = alice.run(label, "apt-get update && apt-get install sqlite3 && sqlite3 :memory: 'select 6*7'", timeout_seconds=300)
    assert result.exit_code == 0 and result.output.rstrip().endswith("42"), result
    result = alice.run(label, "pip install humanize && python3 -c 'import humanize; print(humanize.intcomma(12345))'",
                       timeout_seconds=300)
    assert result.exit_code == 0 and result.output.rstrip().endswith("12,345"), result


def test_two_installs_at_once_both_work(alice, label):
    result = alice.run(label, "(apt-get install bc >/tmp/a 2>&1; echo a$?) & (apt-get install dc >/tmp/b 2>&1; echo b$?) & "
                              "wait", timeout_seconds=300)
    assert sorted(result.output.split()) == ["a0", "b0"], result


def test_two_calls_that_install_at_once_both_work(stack, label):
    """As a model makes them: each by itself, each with its own update."""
    def install(package):
        with McpClient(stack.url, stack.key) as client:
            return client.run(label, f"apt-get update && apt-get install {package}", timeout_seconds=300, wait_seconds=280)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        results = list(pool.map(install, ("bc", "dc")))
    assert [result.exit_code for result in results] == [0, 0], results


IMAGE_TOOLS = "bash cat curl git jq rg fdfind fd less ps file nano python3 pip tar zip unzip xz gcc g++ make wget"


def test_what_the_image_has_is_there(alice, shared_label):
    missing = alice.run(shared_label, f"for tool in {IMAGE_TOOLS}; do command -v $tool >/dev/null || echo $tool; done")
    assert missing.output == "", missing
    alice.output(shared_label, "python3 -m venv /tmp/venv && test -s /etc/ssl/certs/ca-certificates.crt")
    assert alice.output(shared_label, "cat /etc/debian_version") != ""


def test_apt_asks_nothing_waits_for_its_lock_and_tries_again(alice, shared_label):
    settings = alice.output(shared_label, "apt-config dump").splitlines()
    for line in ('APT::Get::Assume-Yes "true";', 'DPkg::Lock::Timeout "120";', 'Acquire::Retries "3";',
                 'DPkg::Options:: "--force-confold";'):
        assert line in settings, line


CONFIGURED = """
for version in 1 2; do
  mkdir -p /tmp/c$version/DEBIAN /tmp/c$version/etc
  printf 'Package: configured\\nVersion: %s\\nArchitecture: all\\nMaintainer: a <a@b>\\nDescription: c\\n' $version \
    >/tmp/c$version/DEBIAN/control
  echo /etc/configured >/tmp/c$version/DEBIAN/conffiles
  echo packaged $version >/tmp/c$version/etc/configured
  dpkg-deb --root-owner-group --build /tmp/c$version /tmp/c$version.deb >/dev/null
done
"""


def test_a_configuration_that_was_changed_is_kept_and_nobody_is_asked(alice, label):
    alice.output(label, CONFIGURED)
    alice.output(label, "apt-get install /tmp/c1.deb && echo mine >/etc/configured", timeout_seconds=60)
    alice.output(label, "apt-get install /tmp/c2.deb", timeout_seconds=60)
    assert alice.output(label, "cat /etc/configured; dpkg-query -W -f '${Version}' configured") == "mine\n2"


def note_of(result):
    """The remedy of a command that failed, which stands before what it printed."""
    assert result.exit_code not in (0, None) and not result.is_error, result
    return "\n".join(line for line in result.text.split("\n") if line.startswith("note: "))


def test_without_package_lists_the_way_to_get_them_is_said(alice, label):
    alice.output(label, "rm -rf /var/lib/apt/lists/*")
    result = alice.run(label, "apt-get install sqlite3", timeout_seconds=60)
    assert "run `apt-get update` first" in note_of(result), result


# Holds a lock as apt does (a record lock) or as flock(1) does, until it is ended.
HOLD = """
import fcntl, sys, time
how, path = sys.argv[1:]
file = open(path, "w")
(fcntl.lockf if how == "record" else fcntl.flock)(file, fcntl.LOCK_EX)
print("held", flush=True)
time.sleep(1000)
"""


@pytest.mark.parametrize("how, lock, command", [
    ("record", "/var/lib/dpkg/lock-frontend", "apt-get install sqlite3"), ("record", "/var/lib/dpkg/lock-frontend", "dpkg -i /no.deb"),
    ("record", "/var/lib/apt/lists/lock", "/usr/bin/apt-get update"), ("whole", "/run/lock/apt-update.lock", "apt-get update"),
    ("whole", "/run/lock/apt-update.lock", "apt update && apt install sqlite3")])
def test_a_lock_that_isnt_let_go_is_explained(alice, label, how, lock, command):
    alice.output(label, "cat >/tmp/hold.py && echo 'DPkg::Lock::Timeout \"1\";' >/etc/apt/apt.conf.d/99short", stdin=HOLD)
    holder = field(alice.run(label, f"exec python3 /tmp/hold.py {how} {lock}", wait_seconds=0), "job")
    wait_for("the lock", lambda: alice.call("read_output", sandbox=label, job=holder).output == "held\n", 20)
    result = alice.run(label, command, timeout_seconds=60)
    assert "another installation runs in this sandbox" in note_of(result), result
    alice.call("stop_command", sandbox=label, job=holder, signal="KILL")


PACKAGE = """
mkdir -p /tmp/half/DEBIAN
printf 'Package: half\\nVersion: 1\\nArchitecture: all\\nMaintainer: a <a@b>\\nDescription: half\\n' >/tmp/half/DEBIAN/control
printf '#!/bin/sh\\ntest -e /tmp/mended || kill -9 $PPID\\n' >/tmp/half/DEBIAN/postinst
chmod 0755 /tmp/half/DEBIAN/postinst
dpkg-deb --build /tmp/half /tmp/half.deb >/dev/null
"""


def test_an_installation_that_was_killed_is_finished_as_the_note_says(alice, label):
    alice.output(label, PACKAGE)
    killed = alice.run(label, "dpkg -i /tmp/half.deb")
    assert killed.exit_code == 137, killed
    result = alice.run(label, "apt-get install sqlite3", timeout_seconds=60)
    assert "run `dpkg --configure -a`" in note_of(result), result
    mended = alice.run(label, "touch /tmp/mended; dpkg --configure -a && apt-get check && dpkg -s half", timeout_seconds=60)
    assert mended.exit_code == 0 and "Status: install ok installed" in mended.output, mended
