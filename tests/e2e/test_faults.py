"""The death or standstill of either process, at any time, loses no output and leaves the next call working."""

import json
import os
import pathlib
import signal
import threading
import time

import pytest
from mcp_client import McpClient, ToolResult
from stack import ENGINE_RUN, Stack, podman, wait_for
from test_files import fetch, link_in
from test_jobs import open_call

COUNTING = "for i in $(seq 1 400); do echo line-$i; sleep 0.01; done; exit 7"


def test_a_running_command_survives_kill_9_of_the_agent_with_its_output_whole(stack, alice, label):
    results = []

    def run():
        with McpClient(stack.url, stack.key) as other:
            results.append(other.run(label, f"touch up; {COUNTING}"))
    thread = threading.Thread(target=run)
    thread.start()
    wait_for("the command to run", lambda: alice.run(label, "test -e up").exit_code == 0)
    stack.kill_agent()
    stack.start_agent()
    thread.join(60)
    assert results, "the call was answered"
    assert results[0].exit_code == 7, results
    assert results[0].output == "".join(f"line-{n}\n" for n in range(1, 401))


def test_without_an_agent_a_tool_says_so_and_works_within_a_second_of_its_return(stack, alice, label):
    assert alice.run(label, "true").exit_code == 0
    stack.stop_agent()
    try:
        before = time.monotonic()
        result = alice.run(label, "true")
        assert result.is_error and "agent" in result.text.lower(), result
        assert time.monotonic() - before < 2
        assert alice.request("tools/list")["result"]["tools"], "what needs no agent goes on"
    finally:
        stack.start_agent()
    before = time.monotonic()
    wait_for("the next call to work", lambda: alice.run(label, "true").exit_code == 0, 5)
    assert time.monotonic() - before < 1


def test_sandboxes_run_on_while_the_agent_restarts(stack, alice, label):
    alice.output(label, "echo kept >/tmp/outside-the-workspace")
    stack.stop_agent()
    stack.start_agent()
    result = alice.run(label, "cat /tmp/outside-the-workspace")
    assert result.output == "kept\n" and "[rebuilt]" not in result.first_line, result


def kill_everything_of_the_engine(stack):
    """All at once, as when a session's processes are ended: no process that podman could join is left."""
    pids = [int((pathlib.Path(ENGINE_RUN) / "libpod/tmp/pause.pid").read_text())]
    for name in stack.containers():
        state = json.loads(podman("container", "inspect", name))[0]["State"]
        pids += [state["Pid"], state["ConmonPid"]]
    for pid in pids:
        if pid:
            os.kill(pid, signal.SIGKILL)


def test_files_survive_the_death_of_every_process_of_the_engine_at_once(stack, alice, label):
    alice.output(label, "echo kept >file")
    stack.kill_agent()
    kill_everything_of_the_engine(stack)
    try:
        podman("ps")
        pytest.skip("the engine still has a process of another's container to join")
    except RuntimeError as refused:
        assert "system migrate" in str(refused)
    finally:
        stack.start_agent()
        # It takes stock of what died with the engine, and until then each keeps its place.
        wait_for("a place", lambda: not alice.run(f"{label}-next", "true").is_error)
    result = alice.run(label, "cat file")
    assert (result.output, result.exit_code) == ("kept\n", 0), result
    assert "[rebuilt]" in result.first_line or "[restarted]" in result.first_line, result


def test_kill_9_of_the_gateway_keeps_keys_and_links(stack, alice, label):
    alice.output(label, "echo x >f.txt")
    path = link_in(alice.call("present_file", sandbox=label, path="f.txt"))
    stack.kill_gateway()
    stack.start_gateway()
    answer = fetch(alice, path)
    assert (answer.status, answer.body) == (200, b"x\n")
    assert alice.run(label, "true").exit_code == 0


def test_a_lost_database_loses_no_files():
    with Stack() as stack, McpClient(stack.url, stack.key) as client:
        client.output("keeper", "echo kept >f.txt")
        stack.stop_agent()
        for path in (stack.state / "agent").glob("*.db*"):
            path.unlink()
        stack.start_agent()
        assert client.output("keeper", "cat f.txt") == "kept\n"


def test_a_damaged_database_stops_the_start_and_costs_no_files_once_it_is_moved_away():
    with Stack() as stack, McpClient(stack.url, stack.key) as client:
        client.output("keeper", "echo kept >f.txt")
        stack.stop_agent()
        path = stack.state / "agent" / "agent.db"
        whole = path.read_bytes()
        damaged = whole[:4096] + b"\xa5" * 4096 + whole[8192:]
        path.write_bytes(damaged)
        stack.start_agent(wait=False)
        assert stack.agent.wait(timeout=20) != 0
        said = stack.log("agent").splitlines()[-1]
        assert str(path) in said and "damaged" in said and "move it away" in said, said
        assert path.read_bytes() == damaged
        path.rename(path.with_suffix(".damaged"))
        stack.start_agent()
        assert client.output("keeper", "cat f.txt") == "kept\n"


def test_keys_work_at_once_and_stop_at_once(stack, alice):
    key = stack.add_key("carol")
    with McpClient(stack.url, key) as carol:
        wait_for("the new key", lambda: carol.send("GET", "/mcp", headers={"Authorization": f"Bearer {key}"}).status != 401, 2)
        stack.keys("remove", "carol")
        wait_for("the key's end", lambda: carol.send("GET", "/mcp", headers={"Authorization": f"Bearer {key}"}).status == 401, 2)


def test_a_second_agent_on_one_state_directory_refuses_to_start(stack):
    first = stack.agent
    try:
        stack.start_agent(wait=False)
        assert stack.agent.wait(timeout=20) != 0
    finally:
        stack._end(stack.agent, 9)
        stack.agent = first
    assert stack.ctl("info").returncode == 0


def test_a_stopped_agent_is_given_up_within_seconds_and_works_again_once_it_goes_on(stack, alice, label):
    assert alice.run(label, "true").exit_code == 0
    stack.agent.send_signal(signal.SIGSTOP)
    tasks = pathlib.Path(f"/proc/{stack.agent.pid}/task")
    wait_for("all of it to stand", lambda: all(" T " in (task / "stat").read_text() for task in tasks.iterdir()))
    try:
        before = time.monotonic()
        result = alice.run(label, "true")
        assert result.is_error and "agent" in result.text.lower(), result
        assert time.monotonic() - before < 40
    finally:
        stack.agent.send_signal(signal.SIGCONT)
    wait_for("the next call to work", lambda: alice.run(label, "true").exit_code == 0, 10)


def test_a_silent_command_outlives_every_question_whether_the_agent_lives(alice, label):
    """And its client is shown every fifteen seconds that nothing has broken."""
    alice.run(label, "true")
    with open_call(alice, "run_command", {"sandbox": label, "command": "sleep 45; echo at last", "wait_seconds": 90}) as connection:
        connection.sock.settimeout(20)
        lines = connection.getresponse().read().split(b"\n")
    comments = [line for line in lines if line.startswith(b":")]
    assert comments.count(b": keep-alive") in (2, 3), comments
    result = ToolResult(json.loads(next(line[5:] for line in lines if line.startswith(b"data:")))["result"])
    assert result.exit_code == 0 and result.output == "at last\n", result


def test_nothing_is_left_of_a_container_that_went_while_the_agent_was_down():
    with Stack() as stack, McpClient(stack.url, stack.key) as client:
        client.output("gone", "true")
        folders = stack.state / "agent" / "sandboxes"
        assert len(list(folders.iterdir())) == 1
        stack.kill_agent()
        podman("rm", "-f", "-t", "0", *stack.containers())
        stack.start_agent()
        wait_for("its files to go", lambda: not list(folders.iterdir()), 10)
        assert "[rebuilt]" in client.run("gone", "true").first_line
        assert len(list(folders.iterdir())) == 1
