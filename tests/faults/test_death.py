"""The death of the agent under many commands, and the end of one command on request: nothing is lost, nothing lingers."""

import json
import time

import pytest
from mcp_client import LEGACY, McpClient
from programs import field, whole_output
from stack import wait_for
from test_jobs import open_call

JOBS = 20
LINES = 600


def lines_of(number):
    return "".join(f"job {number} line {n}\n" for n in range(1, LINES + 1))


def socket_is_back(stack):
    """A refused connection is a socket that the last agent left."""
    import socket
    with socket.socket(socket.AF_UNIX) as probe:
        return probe.connect_ex(str(stack.socket)) == 0


def test_twenty_commands_survive_three_deaths_of_the_agent_whole(stack, alice, label):
    alice.run(label, "true")
    jobs = []
    for number in range(JOBS):
        command = f"for n in $(seq 1 {LINES}); do echo job {number} line $n; sleep 0.01; done; exit {number + 10}"
        jobs.append(field(alice.run(label, command, wait_seconds=0), "job"))
    assert all(jobs), jobs
    first_answers = []
    for _ in range(3):
        stack.kill_agent()
        stack.start_agent(wait=False)
        wait_for("the socket", lambda: socket_is_back(stack), 30)
        back = time.monotonic()
        result = alice.call("wait_command", sandbox=label, job=jobs[0], wait_seconds=0)
        while result.is_error and time.monotonic() - back < 10:
            result = alice.call("wait_command", sandbox=label, job=jobs[0], wait_seconds=0)
        first_answers.append(time.monotonic() - back)
        assert not result.is_error, result
    for number, job in enumerate(jobs):
        result = alice.call("wait_command", sandbox=label, job=job, wait_seconds=120, offset=0)
        assert result.exit_code == number + 10, (number, result.first_line)
        assert whole_output(alice, label, job) == lines_of(number), number
    assert max(first_answers) < 1, first_answers


def test_a_command_that_ended_while_there_was_no_agent_is_told_as_it_ended(stack, alice, label):
    alice.run(label, "true")
    job = field(alice.run(label, "until test -e /tmp/go; do sleep 0.05; done; echo last words; exit 9", wait_seconds=0), "job")
    alice.run(label, "(sleep 1; touch /tmp/go) >/dev/null 2>&1 &")
    stack.kill_agent()
    time.sleep(2)  # Nobody is there who could be asked whether it has ended.
    stack.start_agent()
    result = alice.call("wait_command", sandbox=label, job=job)
    assert (result.exit_code, result.output) == (9, "last words\n"), result


def test_a_deadline_that_passed_while_there_was_no_agent_is_kept_at_its_return(stack, alice, label):
    alice.run(label, "true")
    job = field(alice.run(label, "echo up; sleep 600", wait_seconds=0, timeout_seconds=2), "job")
    stack.kill_agent()
    time.sleep(2)  # As above.
    stack.start_agent()
    result = alice.call("wait_command", sandbox=label, job=job, offset=0)
    assert (result.exit_code, result.output) == (124, "up\n"), result


# Prints when the last of the given processes was seen to be gone, by the clock that both sides share, and how long before that it
# hadn't looked.
WATCH = """
import os, sys, time
pids = sys.argv[1:]
print("watching", flush=True)
while pids:
    before = time.time()
    time.sleep(0.001)
    pids = [pid for pid in pids if os.path.exists("/proc/" + pid)]
print(time.time(), time.time() - before, flush=True)
"""
TREE = "trap '' TERM; (setsid sleep 1000 & echo $!; exec 1>&-; sleep 1000) & bash -c 'trap \"\" TERM; echo $$; sleep 1000; :' & " \
       "echo $$; sleep 1000; sleep 1000"


def cancel_and_measure(alice, label, identifier):
    """Seconds from an explicit cancel to the end of a tree that ignores SIGTERM, looked at from inside, and those not looked."""
    with open_call(alice, "run_command", {"sandbox": label, "command": f"({TREE}) >/tmp/tree-{identifier}"},
                   identifier=identifier) as connection:
        pids = wait_for("the tree", lambda: (lambda found: found if len(found) == 3 else None)(
            alice.run(label, f"cat /tmp/tree-{identifier} 2>/dev/null").output.split()), 10)
        watcher = field(alice.run(label, f"exec python3 /tmp/watch.py {' '.join(pids)}", wait_seconds=0), "job")
        wait_for("the watcher", lambda: whole_output(alice, label, watcher) == "watching\n", 10)
        notification = json.dumps({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": identifier}})
        cancelled = time.time()
        assert alice.post(notification, {"MCP-Protocol-Version": LEGACY}).status == 202
        assert b"[cause cancelled]" in connection.getresponse().read()
    alice.call("wait_command", sandbox=label, job=watcher)
    _, gone, pause = whole_output(alice, label, watcher).split()
    return float(gone) - cancelled, float(pause)


def test_a_legacy_cancel_kills_the_tree_within_a_quarter_of_a_second_seen_from_inside(alice, label):
    alice.output(label, "cat >/tmp/watch.py", stdin=WATCH)
    took = [cancel_and_measure(alice, label, 700 + turn) for turn in range(5)]
    assert all(seconds < 0.25 + pause for seconds, pause in took), took
