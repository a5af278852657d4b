"""What the kernel enforces where its cgroups are delegated: limits that land, endings that say which one, and what goes on after."""

import base64
import contextlib
import re
import shlex
import time

import pytest
from host import TESTCASES

MEBIBYTE = 1 << 20
# It can't be had in 128 MiB, nor does it need anything but the shell and coreutils.
EAT_MEMORY = "tail /dev/zero"


@pytest.fixture
def settled(host):
    """No process of the commands is left, by the kernel's own count."""
    def wait(group, most):
        return host.run(f"for _ in $(seq 600); do (( $(cat {group}/pids.current) <= {most} )) && exit; sleep 0.2; done; exit 1", 180)
    return wait


def group_of(host, alice, label):
    """The container's group, found by what the sandbox itself calls its host name."""
    marker = f"{time.monotonic_ns()}"
    assert alice.run(label, f"sleep 5{marker} & :").exit_code == 0
    pid = host.run(f"pgrep -f '^sleep 5{marker}' | head -n 1").strip()
    path = re.search(r"^0::(.*/libpod-[^/\n]+)", host.run(f"cat /proc/{pid}/cgroup"), re.MULTILINE)
    assert path, host.run(f"cat /proc/{pid}/cgroup")
    host.run(f"kill -KILL {pid}")
    return "/sys/fs/cgroup" + path[1]


def limits_of(host, group):
    return {name: host.run(f"cat {group}/{name}").strip() for name in ("memory.max", "memory.swap.max", "pids.max", "cpu.max")}


LIMITS = {"memory.max": str(128 * MEBIBYTE), "memory.swap.max": "0", "pids.max": "64", "cpu.max": "100000 100000"}


def test_limits_of_memory_processes_and_cpu_land(host, alice, label):
    group = group_of(host, alice, label)
    assert group.startswith("/sys/fs/cgroup/sandkeep.slice/sandkeep-containers.service/containers/"), group
    assert limits_of(host, group) == LIMITS


def test_what_the_agent_says_of_the_host_is_what_holds(host, alice):
    info = host.run("sandkeepctl info")
    assert "limits land" in info and "don't land" not in info, info
    assert "don't land" not in alice.call("sandbox_info").text


def test_a_command_that_eats_too_much_memory_is_told_so_and_the_sandbox_works_on(host, alice, label):
    alice.output(label, "echo kept >/tmp/outside-the-workspace")
    result = alice.run(label, EAT_MEMORY)
    assert "[cause oom]" in result.first_line and result.exit_code == 137, result
    assert "128 MiB" in result.text, result
    assert alice.output(label, "cat /tmp/outside-the-workspace") == "kept\n"


def test_a_child_that_eats_too_much_memory_is_told_of_in_a_command_that_goes_on(alice, label):
    result = alice.run(label, f"{EAT_MEMORY}; echo $?")
    assert result.exit_code == 0 and "137" in result.output, result
    assert "128 MiB" in result.text, result


def test_a_fork_bomb_meets_the_limit_and_ends_when_it_is_stopped(host, alice, label, settled):
    group = group_of(host, alice, label)
    before = int(host.run(f"cat {group}/pids.current"))
    program = base64.b64encode((TESTCASES / "fork_bomb").read_bytes()).decode()
    alice.output(label, f"base64 -d >fork_bomb <<<'{program}'; chmod +x fork_bomb")
    # Its first process ends by itself after a minute; the others go on forking.
    result = alice.run(label, "./fork_bomb 1000")
    assert "[cause pids]" in result.first_line, result
    stopped = alice.call("stop_command", sandbox=label, signal="KILL")
    assert not stopped.is_error, stopped
    settled(group, before)
    assert alice.output(label, "echo works") == "works\n"


def test_a_shell_that_cannot_fork_is_told_why(host, alice, label, settled):
    group = group_of(host, alice, label)
    before = int(host.run(f"cat {group}/pids.current"))
    result = alice.run(label, "for i in $(seq 100); do sleep 30 & done; wait; exit 3")
    assert "[cause pids]" in result.first_line, result
    settled(group, before)
    assert alice.output(label, "echo works") == "works\n"


def test_a_command_survives_kill_9_of_the_agent(host, alice, label):
    first = alice.run(label, "for i in $(seq 1 200); do echo line-$i; sleep 0.05; done; exit 7", wait_seconds=1)
    assert "[running]" in first.first_line, first
    host.run("kill -KILL $(systemctl show -p MainPID --value sandkeep-agent.service)")
    result = alice.call("wait_command", sandbox=label, wait_seconds=280, offset=0)
    deadline = time.monotonic() + 300
    while result.is_error and time.monotonic() < deadline:
        time.sleep(1)
        result = alice.call("wait_command", sandbox=label, wait_seconds=280, offset=0)
    assert result.exit_code == 7, (result, host.journal())
    assert result.output == "".join(f"line-{n}\n" for n in range(1, 201))


def test_a_limit_that_somebody_took_away_is_put_right_when_the_agent_starts(host, alice, label):
    group = group_of(host, alice, label)
    host.run(f"echo max >{group}/memory.max; echo max >{group}/pids.max; echo 'max 100000' >{group}/cpu.max")
    host.run("systemctl restart sandkeep-agent", 180)
    assert alice.run(label, "true").exit_code == 0
    assert limits_of(host, group) == LIMITS


def test_a_frozen_sandbox_is_frozen_by_the_kernel_and_goes_on(host, alice, label):
    group = group_of(host, alice, label)
    alice.run(label, "(while :; do echo x >>/workspace/beats; sleep 0.1; done) >/dev/null 2>&1 &")
    principal = host.run(f"sandkeepctl ls | awk '$1 == \"{label}\" {{ print $(NF - 1) }}'").strip()
    host.run(f"sandkeepctl freeze {principal} {label}")
    assert "frozen 1" in host.run(f"cat {group}/cgroup.events")
    woken = alice.run(label, "wc -l <beats")
    assert "[woken]" in woken.first_line, woken
    assert "frozen 0" in host.run(f"cat {group}/cgroup.events")


def test_one_that_somebody_paused_by_hand_goes_on_for_the_next_call(host, alice, label):
    group = group_of(host, alice, label)
    alice.output(label, "echo kept >/tmp/outside-the-workspace")
    host.run(f". /opt/sandkeep/deploy/host.sh; sk_podman pause {group.rpartition('-')[2]}")
    assert "frozen 1" in host.run(f"cat {group}/cgroup.events")
    assert alice.output(label, "cat /tmp/outside-the-workspace") == "kept\n"
    assert "was_paused_by_hand" in host.journal("sandkeep-agent.service")
    host.run(f". /opt/sandkeep/deploy/host.sh; sk_podman pause {group.rpartition('-')[2]} || :")
    assert not alice.call("remove_sandbox", sandbox=label).is_error
    again = alice.run(label, "true")
    assert "[rebuilt]" in again.first_line, again


@contextlib.contextmanager
def units_with(host, **settings):
    """The agent's and the containers' unit with these settings, and without the groups that there were before; as they were, afterwards."""
    anew = ("systemctl stop sandkeep-agent.service; . /opt/sandkeep/deploy/host.sh; sk_podman rm -afi -t 0 >/dev/null; "
            "systemctl stop sandkeep-containers.service; pkill -KILL -u sandkeep; "
            "for _ in $(seq 100); do find /sys/fs/cgroup/sandkeep.slice/*.service -depth -type d -exec rmdir {} + && break; "
            "ls -d /sys/fs/cgroup/sandkeep.slice/*.service || break; sleep 0.2; done; "
            "systemctl daemon-reload; systemctl start sandkeep-agent.service")
    drop_ins = {f"/run/systemd/system/sandkeep-{unit}.service.d/zz-test.conf": f"[Service]\n{text}\n" for unit, text in settings.items()}
    laid = (f"install -D /dev/stdin {path} <<<{shlex.quote(text)}" for path, text in drop_ins.items())
    host.run(f"{'; '.join(laid)}; {anew}", 300)
    try:
        yield
    finally:
        host.run(f"rm {' '.join(drop_ins)}; {anew}", 300)


def test_the_agents_own_delegated_group_holds_it_and_its_containers(host, alice, label):
    with units_with(host, agent="Delegate=cpu cpuset io memory pids"):
        group = group_of(host, alice, label)
        assert group.startswith("/sys/fs/cgroup/sandkeep.slice/sandkeep-agent.service/containers/"), group
        assert limits_of(host, group) == LIMITS
        agent = host.run("cat /proc/$(systemctl show -p MainPID --value sandkeep-agent.service)/cgroup")
        assert agent.strip() == "0::/sandkeep.slice/sandkeep-agent.service/agent", agent


def test_an_agent_without_delegation_says_so_and_does_not_guess(host, alice, label):
    with units_with(host, containers="Delegate=no\nExecStart=\nExecStart=sleep infinity\nExecStartPost="):
        said = host.run("journalctl --no-pager -o cat _PID=$(systemctl show -p MainPID --value sandkeep-agent.service)")
        assert "Delegate=" in said, said
        assert "don't land" in host.run("sandkeepctl info")
        assert "don't land" in alice.call("sandbox_info").text
        result = alice.run(label, "kill -KILL $$")
        assert result.exit_code == 137 and "can't say" in result.text, result
        assert "[cause oom]" not in result.first_line
