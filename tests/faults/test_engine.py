"""An engine that fails in every way: what runs goes on, what is to start is told why, and afterwards all is as the records say."""

import concurrent.futures
import json
import os
import signal
import time

import pytest
from mcp_client import McpClient
from programs import field
from stack import PATH, Stack, podman, wait_for
from test_kill_points import children_of, name_of, records

FAKE = """#!/bin/bash
case $(cat {mode} 2>/dev/null) in
  "") exec /usr/bin/podman "$@" ;;
  hangs) touch {mode}.asked; exec sleep 1000 ;;
  waits) touch {mode}.asked; while [[ -e {mode} ]]; do sleep 0.1; done; exec /usr/bin/podman "$@" ;;
  prints-garbage) head -c 5000 /dev/urandom; exit 0 ;;
  says-nothing) exit 0 ;;
  *) echo "Error: by order of the test" >&2; exit $(cat {mode}) ;;
esac
"""


@pytest.fixture(scope="module")
def failing():
    """A stack whose podman does as it is told; and the file that tells it."""
    with Stack({"SANDBOX_WARM": "0"}) as stack:
        folder = stack.state / "engine"
        folder.mkdir(mode=0o755)
        os.chmod(folder, 0o777)
        program = folder / "podman"
        program.write_text(FAKE.format(mode=folder / "mode"))
        program.chmod(0o755)
        stack.stop_agent()
        stack.agent_settings["PATH"] = f"{folder}:{PATH}"
        stack.start_agent()
        yield stack, folder / "mode"


def hang(file):
    file.with_name("mode.asked").unlink(missing_ok=True)
    file.write_text("hangs")


def wait_until_asked(file):
    wait_for("the engine to be asked", file.with_name("mode.asked").exists)


@pytest.mark.parametrize("mode", ["125", "126", "127", "prints-garbage", "says-nothing", "hangs"])
def test_what_runs_goes_on_and_what_is_new_is_told(failing, label, mode):
    stack, file = failing
    with McpClient(stack.url, stack.key) as client:
        client.output(label, "echo kept >file")
        file.write_text(mode)
        try:
            assert client.output(label, "cat file") == "kept\n", "a sandbox that runs needs no engine"
            began = time.monotonic()
            told = client.run(label + "-b", "true", wait_seconds=5)
            assert told.is_error or "[running]" in told.first_line, told
            assert time.monotonic() - began < 60
            assert stack.ctl("ls").returncode == 0
        finally:
            file.unlink()
            if mode == "hangs":
                # Its calls are given up at their deadline; an agent that starts anew has none.
                stack.kill_agent()
                stack.start_agent()
        wait_for("the engine to be used again", lambda: client.run(label + "-c", "echo x >file").exit_code == 0, 60)
        assert client.output(label, "cat file") == "kept\n"
    wait_for("the engine to be as the records say",
             lambda: records(stack) == (set(stack.containers()), set(stack.volumes())), 60)


@pytest.mark.parametrize("when", ["call", "start"])
def test_sigterm_ends_an_agent_whose_engine_hangs(failing, label, when):
    stack, file = failing
    with McpClient(stack.url, stack.key) as client, McpClient(stack.url, stack.key) as other, \
            concurrent.futures.ThreadPoolExecutor(1) as pool:
        client.output(label, "echo kept >file; sleep 600 & disown")
        try:
            if when == "call":
                hang(file)
                waiting = pool.submit(other.run, label + "-b", "true")
            else:
                stack.stop_agent()
                hang(file)
                stack.start_agent(wait=False)
            wait_until_asked(file)
            began = time.monotonic()
            stack.agent.send_signal(signal.SIGTERM)
            assert stack.agent.wait(timeout=15) == 0
            assert 5 < time.monotonic() - began, "it may yet answer"
        finally:
            file.unlink(missing_ok=True)
            stack.kill_agent()
            stack.start_agent()
        if when == "call":
            # Its client asks again meanwhile, or is told.
            assert waiting.result(90).text
        assert client.output(label, "cat file; pgrep -xc sleep") == "kept\n1\n", "what runs went on"


def test_an_agent_that_starts_while_its_engine_hangs_says_so_and_goes_on_when_it_answers(failing, label):
    stack, file = failing
    with McpClient(stack.url, stack.key) as client:
        client.output(label, "echo kept >file")
        stack.kill_agent()
        try:
            hang(file)
            # It waits for a while, since a quick engine needs nobody to be told.
            stack.start_agent()
            assert "taking stock" in stack.ctl("info").stdout
            told = client.run(label, "cat file")
            assert told.is_error and "taking stock" in told.text, told
            (hanging,) = [pid for pid in children_of(stack.agent.pid) if name_of(pid) == "sleep"]
        finally:
            file.unlink()
        os.kill(hanging, signal.SIGKILL)
        wait_for("it to know its sandboxes", lambda: stack.ctl("ls", check=False).returncode == 0, 30)
        assert client.output(label, "cat file") == "kept\n"


def test_a_stop_of_all_sandboxes_while_stock_is_taken_waits_for_what_there_is(failing, label):
    stack, file = failing
    with McpClient(stack.url, stack.key) as client:
        client.output(label, "echo kept >file")
        stack.kill_agent()
        try:
            file.write_text("waits")
            stack.start_agent()
            stack.agent.send_signal(signal.SIGUSR1)
            # It knows of none yet.
            wait_for("the agent to hear of it", lambda: "agent.stopping" in stack.log("agent").rpartition("agent.listening")[2])
            assert stack.agent.poll() is None
        finally:
            file.unlink()
        assert stack.agent.wait(timeout=60) == 0
        assert {row["State"] for row in stack.containers().values()} == {"exited"}
        stack.start_agent()
        assert client.output(label, "cat file") == "kept\n"


def test_a_stop_of_all_sandboxes_that_an_engine_holds_up_ends_by_sigterm(failing, label):
    stack, file = failing
    with McpClient(stack.url, stack.key) as client, concurrent.futures.ThreadPoolExecutor(1) as pool:
        client.output(label, "echo kept >file")
        try:
            hang(file)
            waiting = pool.submit(client.run, label + "-b", "true")
            wait_until_asked(file)
            stack.agent.send_signal(signal.SIGUSR1)
            time.sleep(1)
            assert stack.agent.poll() is None, "it stops sandboxes yet"
            stack.agent.send_signal(signal.SIGTERM)
            assert stack.agent.wait(timeout=15) == 0
        finally:
            file.unlink(missing_ok=True)
            stack.kill_agent()
            stack.start_agent()
        assert waiting.result(90).text
        assert client.output(label, "cat file") == "kept\n"


def test_an_engine_that_is_replaced_while_the_agent_runs_is_used_as_soon_as_it_is_there(failing, label):
    stack, file = failing
    program = file.with_name("podman")
    away = file.with_name("old")
    with McpClient(stack.url, stack.key) as client:
        client.output(label, "echo kept >file")
        # As a package manager does it: for a moment there is none, then another file has its name.
        program.rename(away)
        assert client.output(label, "cat file") == "kept\n", "a sandbox that runs needs no engine"
        told = client.run(label + "-b", "true")
        assert told.is_error and "podman is missing" in told.text, told
        new = file.with_name("new")
        new.write_text(away.read_text() + "# Another version.\n")
        new.chmod(0o755)
        new.rename(program)
        assert client.run(label + "-b", "true").exit_code == 0
        stack.ctl("freeze", json.loads(stack.ctl("--json", "ls").stdout)["sandboxes"][0]["principal"], label)
        assert client.output(label, "cat file") == "kept\n"
    assert records(stack) == (set(stack.containers()), set(stack.volumes()))


def test_a_container_that_is_stopped_by_hand_is_waited_for_and_goes_on(stack, alice, label):
    before = set(stack.containers())
    alice.output(label, "sleep 600 & disown")
    (mine,) = set(stack.containers()) - before
    inside = podman("top", mine, "hpid").split()[1:]
    for pid in inside:
        os.kill(int(pid), signal.SIGSTOP)
    try:
        beside = alice.run(label + "-b", "echo quick")
        assert beside.output == "quick\n", "nobody else waits for it"
        held = alice.run(label, "echo held", wait_seconds=3)
        assert held.is_error or "[running]" in held.first_line, held
        assert stack.ctl("ls").returncode == 0
    finally:
        for pid in inside:
            os.kill(int(pid), signal.SIGCONT)
    assert alice.output(label, "echo again; pgrep -xc sleep") == "again\n1\n"
    if not held.is_error:
        assert alice.call("wait_command", sandbox=label, job=field(held, "job")).output == "held\n"


def test_a_container_that_is_renamed_by_hand_is_left_to_who_did_it(stack, alice, label):
    before = set(stack.containers())
    alice.output(label, "echo kept >file")
    (mine,) = set(stack.containers()) - before
    other = f"renamed-{os.getpid()}"
    podman("rename", mine, other)
    try:
        # It is the same one, and its init is reached by no name.
        assert alice.output(label, "cat file") == "kept\n"
        stack.kill_agent()
        stack.start_agent()
        result = alice.run(label, "cat file")
        assert result.exit_code == 0 and result.output == "kept\n", result
        assert other in stack.containers(), "what bears another name isn't ours to remove"
    finally:
        podman("rm", "-f", "-t", "0", other)


def test_a_volume_that_is_removed_by_hand_makes_an_empty_sandbox_that_says_so(stack, alice, label):
    containers, volumes = set(stack.containers()), set(stack.volumes())
    alice.output(label, "echo lost >file")
    (container,) = set(stack.containers()) - containers
    (volume,) = set(stack.volumes()) - volumes
    podman("rm", "-f", "-t", "0", container)
    podman("volume", "rm", volume)
    result = alice.run(label, "ls; echo new >file; cat file")
    assert "[new]" in result.first_line and "were removed by hand" in result.text and result.output == "new\n", result
