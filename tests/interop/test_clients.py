"""Real clients, as their makers ship them, connect, list and call."""

import json
import pathlib
import subprocess

import pytest
from sign_in import person_signs_in
from stack import wait_for

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


# By closing the call's stream in the one era, by a notification in the other.
@pytest.mark.parametrize("flavour", ["sdk", "client-auto", "client-modern", "client-legacy"])
def test_an_official_client_hears_of_progress_and_cancels(stack, alice, label, flavour):
    alice.output(label, "true")
    client = subprocess.Popen(["node", "cancel.mjs", flavour, stack.url, stack.key, label], cwd=HERE, stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        line = client.stdout.readline()
        assert line, client.communicate(timeout=60)
        seen = json.loads(line)
        assert seen["heard"] == "begun" and "changed their mind" in seen["ended"], seen
        wait_for("the command's end", lambda: alice.output(label, "pgrep -x sleep || true") == "", 15)
        client.communicate(timeout=60)
    finally:
        client.kill()
        client.wait()
    assert client.returncode == 0


@pytest.mark.parametrize("flavour", ["sdk", "client-auto", "client-modern", "client-legacy"])
def test_an_official_client_signs_in_and_refreshes(stack, label, flavour):
    client = subprocess.Popen(["node", "sign_in.mjs", flavour, stack.url, label], cwd=HERE, stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        address = client.stdout.readline().strip()
        assert address.startswith("http"), client.communicate(timeout=60)
        out, err = client.communicate(person_signs_in(address, stack.key) + "\n", timeout=120)
    finally:
        client.kill()
        client.wait()
    assert client.returncode == 0, err
    seen = json.loads(out)
    assert "signed in" in seen["first"] and "refreshed" in seen["second"]
    assert seen["refreshes"] == 1
    assert "sandbox" in seen["scope"]
