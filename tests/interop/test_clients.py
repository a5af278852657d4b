"""Real clients, as their makers ship them, connect, list and call."""

import json
import pathlib
import subprocess

import pytest

HERE = pathlib.Path(__file__).parent


@pytest.mark.parametrize("flavour", ["sdk", "client-auto", "client-modern", "client-legacy"])
def test_an_official_client_lists_and_calls(stack, label, flavour):
    done = subprocess.run(["node", "call.mjs", flavour, stack.url, stack.key, label], cwd=HERE, capture_output=True, text=True,
                          timeout=120)
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    assert {"run_command", "present_file", "sandbox_info"} <= set(seen["tools"])
    assert "hello from Linux" in seen["text"] and "[exit 3]" in seen["text"]
    assert seen["isError"] is False
