"""An init that lies, in the place of the real one on real podman: its sandbox is given up with a word, and nobody else notices."""

import os
import shutil
import time

import pytest
from mcp_client import McpClient
from stack import BUILD, Stack

# What each does, and what the model is told. What isn't told from a command that never ends, ends at its time limit.
WORDS = {
    "garbage": ["the sandbox is broken (init sent a frame that doesn't parse)"],
    "huge": ["the sandbox is broken (a frame over the limit)"],
    "empty": ["the other end is gone"],
    "silent": ["init didn't answer", "is still being made"],
    "flood": ["the sandbox is broken (init had more to say than a queue holds)"],
    "descriptors": ["[cause timeout]"],
    "forged": ["[cause timeout]"],
    "mute": ["[cause timeout]"],
    "reordered": ["the sandbox was broken from inside"],
    "stranger": ["the sandbox was broken from inside"],
    "twice": ["[exit 0]"],
}


@pytest.fixture(scope="module")
def with_liars():
    """Sandboxes that are new have the lying init; `honest` was there before."""
    with Stack({"SANDBOX_MAX": "20"}) as stack, McpClient(stack.url, stack.key) as client:
        client.output("honest", "echo kept >file; sleep 600 & disown")
        stack.stop_agent()
        program = stack.state / "bin" / "lying-init"
        shutil.copy2(BUILD / "tests" / "testcases" / "lying_init", program)
        stack.agent_settings["INIT_PATH"] = str(program)
        stack.start_agent()
        yield stack, client


def cost_of(pid):
    """Open descriptors, and resident memory in MB."""
    with open(f"/proc/{pid}/statm") as file:
        return len(os.listdir(f"/proc/{pid}/fd")), int(file.read().split()[1]) * 4096 // 1_000_000


@pytest.mark.parametrize("lie", WORDS)
def test_its_sandbox_is_given_up_with_a_word_and_no_other_notices(with_liars, lie):
    stack, client = with_liars
    agent = stack.agent.pid
    client.run("honest", "true")
    before = cost_of(agent)
    began = time.monotonic()
    told = client.run(lie, "echo never", timeout_seconds=5, wait_seconds=40)
    assert time.monotonic() - began < 60
    assert "never" not in told.output and any(words in told.text for words in WORDS[lie]), told
    assert client.output("honest", "cat file; pgrep -xc sleep") == "kept\n1\n"
    descriptors, memory = cost_of(agent)
    assert descriptors < before[0] + 60 and memory < before[1] + 60, (before, descriptors, memory)
    assert not client.call("remove_sandbox", sandbox=lie, files=True).is_error
    assert lie not in stack.ctl("ls").stdout.split() and stack.agent.poll() is None
