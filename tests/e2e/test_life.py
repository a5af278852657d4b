"""A sandbox that nobody uses waits instead of dying, and what was installed in it survives."""

import json
import os
import signal
import time

import pytest
from mcp_client import McpClient
from stack import Stack, podman, wait_for

IDLE = {"SANDBOX_IDLE": "1", "SANDBOX_STOP_AFTER": "2"}
COUNTER = "(while :; do echo x >>/workspace/beats; sleep 0.02; done) >/dev/null 2>&1 &"


@pytest.fixture(scope="module")
def idle_stack():
    with Stack(IDLE) as stack:
        yield stack


@pytest.fixture
def idle_alice(idle_stack):
    with McpClient(idle_stack.url, idle_stack.key) as client:
        yield client


def listed(stack):
    return {row["label"]: row for row in json.loads(stack.ctl("--json", "ls").stdout)["sandboxes"]}


def becomes(stack, label, state):
    wait_for(f"{label} to be {state}", lambda: listed(stack)[label]["state"] == state, 20)


def freeze(stack, label):
    stack.ctl("freeze", listed(stack)[label]["principal"], label)
    assert listed(stack)[label]["state"] == "FROZEN"


def test_an_apt_install_survives_being_frozen_and_stopped(idle_stack, idle_alice, label):
    installed = idle_alice.run(label, "apt-get update -qq && apt-get install -y sqlite3 && echo kept >/workspace/file",
                               timeout_seconds=300)
    assert installed.exit_code == 0, installed
    becomes(idle_stack, label, "FROZEN")
    becomes(idle_stack, label, "STOPPED")
    assert [row["State"] for row in idle_stack.containers().values()] == ["exited"]

    again = idle_alice.run(label, "sqlite3 :memory: 'select 6*7'; cat /workspace/file")
    assert "[restarted]" in again.first_line, again
    assert "packages" in again.text and again.output.endswith("42\nkept\n"), again


def test_a_frozen_sandbox_costs_no_time_and_wakes_with_its_processes(stack, alice, label):
    alice.run(label, COUNTER + " echo $! >/workspace/pid")
    wait_for("the counter", lambda: alice.run(label, "test -s /workspace/beats").exit_code == 0)
    freeze(stack, label)
    time.sleep(1)
    began = time.monotonic()
    woken = alice.run(label, "echo $(wc -l </workspace/beats); kill -0 $(cat /workspace/pid) && echo alive")
    took = time.monotonic() - began
    assert "[woken]" in woken.first_line and woken.output.endswith("alive\n"), woken
    assert took < 0.5
    # A second at 50 a second would be 50; what it wrote while it was woken is a handful.
    before = int(woken.output.split()[0])
    wait_for("it to go on", lambda: int(alice.output(label, "wc -l </workspace/beats")) > before + 3)
    assert "[woken]" not in alice.run(label, "true").first_line


def test_a_command_after_a_freeze_reads_and_prints_as_ever(stack, alice, label):
    """The shell that stands by is frozen with the rest."""
    for _ in range(3):
        assert alice.output(label, "echo one; echo two >&2") == "one\ntwo\n"
        freeze(stack, label)
    assert "[woken]" in alice.run(label, "seq 3").first_line


def test_an_agent_that_is_killed_finds_frozen_sandboxes_frozen(label):
    with Stack() as stack, McpClient(stack.url, stack.key) as client:
        client.run(label, "echo kept >/tmp/file")
        freeze(stack, label)
        stack.kill_agent()
        stack.start_agent()
        assert listed(stack)[label]["state"] == "FROZEN"
        woken = client.run(label, "cat /tmp/file")
        assert "[woken]" in woken.first_line and woken.output == "kept\n", woken


def test_at_the_limit_the_answer_is_quick_and_says_who(label):
    with Stack({"SANDBOX_MAX": "1"}) as stack, McpClient(stack.url, stack.key) as client, \
            McpClient(stack.url, stack.key2) as other:
        busy = client.run(label, "sleep 1000", wait_seconds=1)
        assert "[running]" in busy.first_line, busy
        times = []
        for _ in range(5):
            began = time.monotonic()
            refused = client.run(label + "-b", "true")
            times.append(time.monotonic() - began)
            assert refused.is_error and label in refused.text and "1 of them yours" in refused.text, refused
        assert sorted(times)[2] < 0.1, times
        foreign = other.run("x", "true")
        assert foreign.is_error and label not in foreign.text and "0 of them yours" in foreign.text, foreign


def test_left_behind_processes_are_frozen_for_others_and_go_on(label):
    with Stack({"SANDBOX_MAX": "1", "SANDBOX_IDLE": "1"}) as stack, \
            McpClient(stack.url, stack.key) as client:
        client.run(label, COUNTER)
        assert client.run(label + "-b", "echo in").output == "in\n"
        assert listed(stack)[label]["state"] == "FROZEN"
        becomes(stack, label, "RUNNING")
        assert client.run(label, "pgrep -c bash").exit_code == 0


def test_a_new_label_takes_a_container_that_waits_for_it(label):
    def warm(stack):
        return json.loads(stack.ctl("--json", "info").stdout)["capacity"]["sandboxes_warm"]
    with Stack({"SANDBOX_WARM": "1"}) as stack, McpClient(stack.url, stack.key) as client:
        wait_for("the pool", lambda: warm(stack) == 1)
        (waiting,) = stack.containers()
        first = client.run(label, "echo kept >/workspace/file; hostname")
        assert "[new]" in first.first_line and first.exit_code == 0, first
        assert first.output.strip() == waiting, "the very one"
        wait_for("another", lambda: warm(stack) == 1)
        stack.kill_agent()
        stack.start_agent()
        assert client.output(label, "cat /workspace/file") == "kept\n"
        wait_for("another", lambda: warm(stack) == 1)
        assert len(stack.containers()) == len(stack.volumes()) == 2


def test_a_container_that_was_killed_by_hand_keeps_its_packages(stack, alice, label):
    before = set(stack.containers())
    alice.run(label, "echo kept >/usr/local/installed")
    (mine,) = set(stack.containers()) - before
    podman("kill", mine)
    becomes(stack, label, "STOPPED")
    again = alice.run(label, "cat /usr/local/installed")
    assert "[restarted]" in again.first_line and again.output == "kept\n", again


def test_a_monitor_that_is_killed_takes_nothing_along(stack, alice, label):
    before = set(stack.containers())
    alice.run(label, "echo kept >/usr/local/installed")
    (mine,) = set(stack.containers()) - before
    monitor = int(podman("container", "inspect", "--format", "{{.State.ConmonPid}}", mine))
    os.kill(monitor, signal.SIGKILL)
    assert alice.output(label, "cat /usr/local/installed") == "kept\n"
    alice.run(label, "echo file >/workspace/file")
    principal = listed(stack)[label]["principal"]
    stack.ctl("rm", principal, label)
    wait_for("the container to go", lambda: mine not in stack.containers())
    assert alice.output(label, "cat /workspace/file") == "file\n"
