"""A gateway that was taken over gets nowhere, and what ends with it is nothing but itself.

The other suites show the opposite: everything that the gateway is for works confined, since it never runs otherwise.
"""

import http.client
import signal

import pytest
from mcp_client import McpClient
from stack import Stack, wait_for

GATEWAY = "tests/testcases/sandkeep-forbidden-gateway"


@pytest.fixture(scope="module")
def hooked():
    with Stack(gateway_program=GATEWAY) as stack:
        if "gateway.unconfined" in stack.log("gateway"):
            pytest.skip("built with a sanitizer")
        yield stack


@pytest.fixture
def taken_over(hooked):
    if hooked.gateway.poll() is not None:
        hooked.start_gateway()
    with McpClient(hooked.url, hooked.key) as client:
        yield client


def test_the_confinement_is_reported(hooked):
    assert "gateway.confined landlock=" in hooked.log("gateway"), hooked.log("gateway")


@pytest.mark.parametrize("what", ["execute", "fork", "connect", "trace", "kill", "code"])
def test_a_forbidden_call_ends_the_gateway_and_no_job(hooked, taken_over, label, what):
    job = taken_over.run(label, "sleep 1; echo survived", wait_seconds=0)
    assert "[job " in job.first_line, job
    with pytest.raises((http.client.HTTPException, OSError)):
        taken_over.call("try_forbidden", what=what)
    assert wait_for("the gateway's end", lambda: hooked.gateway.poll()) == -signal.SIGSYS
    hooked.start_gateway()
    with McpClient(hooked.url, hooked.key) as client:
        number = job.first_line.partition("[job ")[2].partition("]")[0]
        assert "survived" in client.call("wait_command", sandbox=label, job=number).text


def test_no_file_but_its_own_is_opened(hooked, taken_over):
    others = ["/etc/passwd", "/etc/shadow", "/proc/self/environ", "/proc/1/cmdline", str(hooked.state / "agent" / "agent.db"),
              str(hooked.state / "agent.log"), str(hooked.state / "bin" / "sandkeepctl")]
    for path in others:
        assert taken_over.call("try_forbidden", what="read", path=path).text == "Permission denied", path
    for path in ("/tmp/sandkeep-forbidden", "/dev/null"):
        assert taken_over.call("try_forbidden", what="write", path=path).text == "Permission denied", path
    own = str(hooked.state / "gateway" / "probe")
    assert taken_over.call("try_forbidden", what="write", path=own).text == "done"
    assert hooked.gateway.poll() is None
