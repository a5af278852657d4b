"""Commands as tasks, for clients that declare the extension: the task is the job, and outlives whoever asked for it."""

import time

import pytest
from mcp_client import MODERN, McpClient, ToolResult

DECLARED = {"extensions": {"io.modelcontextprotocol/tasks": {}}}


@pytest.fixture
def client(stack):
    with McpClient(stack.url, stack.key, era=MODERN, capabilities=DECLARED) as connected:
        yield connected


def start(client, label, command):
    message = client.request("tools/call", {"name": "run_command", "arguments": {"sandbox": label, "command": command}})
    created = message["result"]
    assert created["resultType"] == "task", created
    assert created["status"] == "working"
    return created["taskId"]


def get(client, task):
    message = client.request("tasks/get", {"taskId": task})
    assert "result" in message, message
    assert message["result"]["resultType"] == "complete"
    return message["result"]


def until_over(client, task, seconds=60):
    end = time.monotonic() + seconds
    while (state := get(client, task))["status"] == "working":
        assert time.monotonic() < end, state
        time.sleep(0.2)
    return state


def test_a_short_command_is_a_plain_result(client, label):
    assert client.run(label, "echo short").output == "short\n"


def test_a_longer_command_is_a_task_with_the_same_result(client, label):
    task = start(client, label, "echo on; sleep 3; echo off; exit 7")
    assert get(client, task)["statusMessage"] == "on"
    state = until_over(client, task)
    assert state["status"] == "completed"
    result = ToolResult(state["result"])
    assert result.first_line == f"[sandbox {label}] [new] [exit 7]"
    assert result.output == "on\noff\n"
    # For as long as the job is known.
    assert get(client, task)["result"] == state["result"]


def test_a_cancelled_task_is_dead_and_says_so(client, label):
    task = start(client, label, "sleep 1000")
    ack = client.request("tasks/cancel", {"taskId": task})["result"]
    assert ack["resultType"] == "complete" and "taskId" not in ack
    assert until_over(client, task)["status"] == "cancelled"
    assert client.output(label, "pgrep -x sleep || true") == ""
    # Again, of what has ended: the same answer.
    assert client.request("tasks/cancel", {"taskId": task})["result"]["resultType"] == "complete"


def test_nobody_elses_task_exists(client, stack, label):
    task = start(client, label, "sleep 1000")
    with McpClient(stack.url, stack.key2, era=MODERN, capabilities=DECLARED) as other:
        for method, more in (("tasks/get", {}), ("tasks/cancel", {}), ("tasks/update", {"inputResponses": {}})):
            assert other.request(method, {"taskId": task, **more})["error"]["code"] == -32602
    assert get(client, task)["status"] == "working"
    client.request("tasks/cancel", {"taskId": task})


def test_a_task_outlives_kill_9_of_gateway_and_agent(client, stack, label):
    task = start(client, label, "sleep 6; seq 1 1000; exit 3")
    client.close()
    stack.kill_gateway()
    stack.kill_agent()
    stack.start_agent()
    stack.start_gateway()
    state = until_over(client, task)
    assert state["status"] == "completed"
    assert ToolResult(state["result"]).exit_code == 3
    assert ToolResult(state["result"]).output == "".join(f"{i}\n" for i in range(1, 1001))
