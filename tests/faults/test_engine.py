"""An engine that fails in every way: what runs goes on, what is to start is told why, and afterwards all is as the records say."""

import os
import time

import pytest
from mcp_client import McpClient
from stack import PATH, Stack, podman, wait_for
from test_kill_points import records

FAKE = """#!/bin/bash
case $(cat {mode} 2>/dev/null) in
  "") exec /usr/bin/podman "$@" ;;
  hangs) exec sleep 1000 ;;
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
        program = folder / "podman"
        program.write_text(FAKE.format(mode=folder / "mode"))
        program.chmod(0o755)
        stack.stop_agent()
        stack.agent_settings["PATH"] = f"{folder}:{PATH}"
        stack.start_agent()
        yield stack, folder / "mode"


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
