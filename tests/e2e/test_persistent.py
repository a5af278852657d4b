"""The persistent profile: one long-lived sandbox a principal, tools without a label, stdout and stderr apart."""

import re
import time
import urllib.request

import pytest
from mcp_client import MODERN, McpClient
from stack import Stack


@pytest.fixture(scope="module")
def persistent():
    with Stack(agent_settings={"SANDBOX_PROFILE": "persistent"}) as running:
        yield running


@pytest.fixture
def carol(persistent):
    with McpClient(persistent.url, persistent.key, era=MODERN) as client:
        # The gateway knows the profile once the agent has told it.
        yield client


def execute(client, command, **arguments):
    return client.call("execute", command=command, **arguments)


def test_no_tool_wants_a_label(carol):
    tools = {tool["name"]: tool for tool in carol.request("tools/list")["result"]["tools"]}
    assert {"execute", "share_file", "wait_command", "read_output", "send_input", "stop_command", "write_file", "read_file", "edit_file",
            "list_files", "delete_file", "request_upload", "wait_upload", "sandbox_info"} <= set(tools)
    assert not {"run_command", "present_file"} & set(tools)
    assert set(tools["execute"]["inputSchema"]["properties"]) == {"command", "timeout"}
    for tool in tools.values():
        assert "sandbox" not in tool["inputSchema"]["properties"], tool
        assert "/workspace" not in str(tool), tool
    assert "label" not in carol.request("server/discover")["result"]["instructions"]


def test_execute_returns_stdout_stderr_and_the_exit_code(carol):
    execute(carol, "true")
    result = execute(carol, "echo out; echo err >&2; exit 3")
    assert result.text == "[sandbox main] [exit 3]\nstdout:\nout\nstderr:\nerr\nexit code: 3"
    assert execute(carol, "echo only").text == "[sandbox main] [exit 0]\nstdout:\nonly\nexit code: 0"
    assert execute(carol, "echo oops >&2").text == "[sandbox main] [exit 0]\nstderr:\noops\nexit code: 0"


def test_it_starts_in_sandbox_which_is_the_workspace(carol):
    text = execute(carol, "pwd; echo here > note; cat /workspace/note").text
    assert "stdout:\n/sandbox\nhere\n" in text
    assert carol.call("read_file", path="/sandbox/note").text.endswith("here\n")
    assert carol.call("read_file", path="sandbox:/sandbox/note").text.endswith("here\n")
    assert carol.call("write_file", path="/sandbox/made", content="by tool\n").is_error is False
    assert "by tool" in execute(carol, "cat made").text


def test_each_stream_is_cut_in_its_middle(carol):
    text = execute(carol, "seq 1 100000; seq 1 100000 >&2").text
    out, _, err = text.partition("\nstderr:\n")
    for stream in (out, err):
        assert "100000" in stream and re.search(r"\n3\n", stream)
        assert 150_000 < len(stream) < 230_000


def test_either_stream_can_be_read_again_and_downloaded(carol):
    text = execute(carol, "seq 1 100000; seq 1 100000 >&2").text
    job = re.search(r"\[job (\w+)\]", text)[1]
    assert carol.call("read_output", job=job, offset=0, limit=100).rest.startswith("1\n2\n3\n")
    assert "\n7\n" in carol.call("read_output", job=job, offset=0, limit=100, stderr=True).rest
    link = re.search(r"http://[^\s)]+/dl/[^\s)]+", text)[0]
    with urllib.request.urlopen(link, timeout=30) as answer:
        assert answer.read() == b"".join(b"%d\n" % i for i in range(1, 100001))


def test_a_command_that_printed_nothing_has_its_exit_code_when_waited_for(carol):
    execute(carol, "exit 3")
    text = carol.call("wait_command").text
    assert text.startswith("[sandbox main] [exit 3]\n") and text.endswith("\nexit code: 3")


def test_the_timeout_is_124_with_the_whole_tree_dead(carol):
    result = execute(carol, "sleep 1000 & sleep 1000", timeout=1)
    assert result.exit_code == 124 and result.text.endswith("exit code: 124")
    assert "stdout" not in execute(carol, "pgrep -x sleep").text


def test_what_is_detached_by_setsid_nohup_goes_on(carol):
    execute(carol, "setsid nohup sh -c 'sleep 1; echo done' > log 2>&1 &")
    end = time.monotonic() + 20
    while "done" not in execute(carol, "cat log").text:
        assert time.monotonic() < end
        time.sleep(0.2)


def test_share_file_gives_a_link(carol):
    execute(carol, "head -c 100000 /dev/zero > big.bin")
    link = re.search(r"http://[^\s)]+/dl/[^\s)]+", carol.call("share_file", path="/sandbox/big.bin").text)[0]
    with urllib.request.urlopen(link, timeout=30) as answer:
        assert answer.read() == bytes(100000)


def test_each_principal_has_its_own_and_all_its_clients_the_same(persistent, carol):
    execute(carol, "echo mine > whose")
    with McpClient(persistent.url, persistent.key) as phone:
        assert "mine" in execute(phone, "cat whose").text
    with McpClient(persistent.url, persistent.key2) as other:
        assert "exit code: 1" in execute(other, "cat whose").text


def test_wrong_arguments_are_named(carol):
    assert "There is no argument 'sandbox'" in execute(carol, "true", sandbox="x").text
    assert "timeout_seconds must be at least 1" in execute(carol, "true", timeout=0).text
    assert "missing" in carol.call("execute").text
