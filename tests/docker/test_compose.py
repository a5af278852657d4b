"""deploy/container/compose.yaml as an operator runs it: the gateway's image in a container, beside an agent of this build.

SANDKEEP_GATEWAY_IMAGE is the image that suite docker has built, in root's own storage.
"""

import grp
import http.client
import json
import os
import resource
import subprocess

import pytest
from mcp_client import McpClient
from stack import ROOT, Stack, free_port, wait_for

COMPOSE = ROOT / "deploy" / "container" / "compose.yaml"
# Of the user in the image.
UID = "991"
# The defaults can't be had on a host of cgroup version 1, nor where root's own limits are lower.
ENGINE = """[containers]
default_ulimits = ["nofile={files}:{files}", "nproc={processes}:{processes}"]
[engine]
runtime = "{runtime}"
cgroup_manager = "cgroupfs"
events_logger = "file"
"""
MOST_FILES, MOST_PROCESSES = 4096, 1000


def at_most(kind, wanted):
    hard = resource.getrlimit(kind)[1]
    return wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)


class Composed:
    """The container, and what an operator asks of it."""

    def __init__(self, stack, folder):
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}/mcp"
        self.project = f"sandkeep-test-{stack.id}"
        (folder / "gateway.env").write_text("REQUEST_RATE=0\n")
        version_2 = os.path.exists("/sys/fs/cgroup/cgroup.controllers")
        (folder / "containers.conf").write_text(ENGINE.format(
            runtime="crun" if version_2 else "runc", files=at_most(resource.RLIMIT_NOFILE, MOST_FILES),
            processes=at_most(resource.RLIMIT_NPROC, MOST_PROCESSES)))
        self.environment = {**os.environ, "CONTAINERS_CONF": str(folder / "containers.conf"),
                            "SANDKEEP_GATEWAY_ENV": str(folder / "gateway.env"), "SANDKEEP_LISTEN": f"127.0.0.1:{self.port}",
                            "SANDKEEP_API_GID": str(grp.getgrnam("sandkeep-api").gr_gid), "SANDKEEP_AGENT_FOLDER": str(stack.run)}

    def _run(self, *command, check=True):
        done = subprocess.run(command, env=self.environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0 or not check, (command, done.stdout, done.stderr)
        return done

    def compose(self, *arguments, check=True):
        return self._run("podman-compose", "-p", self.project, "-f", COMPOSE, *arguments, check=check)

    def podman(self, *arguments, check=True):
        return self._run("podman", *arguments, check=check)

    @property
    def container(self):
        return self.podman("ps", "-aq", "--filter", f"label=io.podman.compose.project={self.project}").stdout.strip()

    def answers(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=2)
        try:
            connection.request("GET", "/healthz")
            return connection.getresponse().status == 200
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()


@pytest.fixture(scope="module")
def composed(tmp_path_factory):
    with Stack({"AGENT_FRONTEND_UIDS": f"sandkeep-gw:key,{UID}:key"}) as stack:
        running = Composed(stack, tmp_path_factory.mktemp("compose"))
        try:
            started = running.compose("up", "-d")
            try:
                wait_for("the container's gateway", running.answers)
            except TimeoutError as error:
                raise TimeoutError(f"{error}\n{started.stderr}\n{running.podman('logs', running.container).stderr}") from None
            yield running
        finally:
            running.compose("down", "-v", check=False)


def test_a_client_runs_a_command_through_the_gateway_in_a_container(composed, label):
    key = composed.podman("exec", composed.container, "sandkeep-gateway", "keys", "add", "composed").stdout.strip()
    with McpClient(composed.url, key) as client:
        wait_for("the new key", lambda: client.send("GET", "/mcp", headers={"Authorization": f"Bearer {key}"}).status == 405, 5)
        assert client.output(label, "echo works") == "works\n"


def test_the_container_has_no_engine_no_capability_and_a_root_that_it_cannot_write_to(composed):
    inspected = json.loads(composed.podman("inspect", composed.container).stdout)[0]
    assert inspected["HostConfig"]["ReadonlyRootfs"]
    with open(f"/proc/{inspected['State']['Pid']}/status") as file:
        fields = dict(line.split(":", 1) for line in file)
    sets = ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")
    assert {name: int(fields[name], 16) for name in sets} == dict.fromkeys(sets, 0)
    assert int(fields["NoNewPrivs"]) == 1 and fields["Uid"].split() == [UID] * 4
    for command in ("command -v podman", "command -v crun", "command -v runc", "touch /usr/made"):
        assert composed.podman("exec", composed.container, "/bin/sh", "-c", command, check=False).returncode != 0, command


def test_the_gateways_state_outlives_the_container(composed, label):
    key = composed.podman("exec", composed.container, "sandkeep-gateway", "keys", "add", "lasting").stdout.strip()
    composed.compose("down")
    composed.compose("up", "-d")
    wait_for("the container's gateway", composed.answers)
    with McpClient(composed.url, key) as client:
        assert client.output(label, "echo works") == "works\n"
