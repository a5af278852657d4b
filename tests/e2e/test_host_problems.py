"""A host that isn't ready says what is missing and how to mend it, and works as soon as it is mended."""

import pathlib
import secrets
import subprocess

import pytest
from mcp_client import McpClient
from stack import ROOT, Stack


def first_result(**agent_settings):
    with Stack(agent_settings=agent_settings) as stack, McpClient(stack.url, stack.key) as client:
        result = client.run("anything", "true")
        assert stack.containers() == {} and stack.volumes() == [], "nothing is left behind"
        return result


def test_a_missing_image_is_named():
    result = first_result(SANDBOX_IMAGE="localhost/no-such-image")
    assert result.is_error and "localhost/no-such-image" in result.text, result


def test_a_full_disk_is_said():
    result = first_result(SANDBOX_MIN_FREE="1023g")
    assert result.is_error and "disk" in result.text.lower(), result


def test_internet_only_needs_the_unit_and_says_so():
    result = first_result(SANDBOX_NETWORK="internet")
    assert result.is_error and "SANDBOX_NETWORK" in result.text, result


def test_a_run_root_that_moved_starts_nothing_and_is_named():
    moved = pathlib.Path(f"/run/sandkeep-moved-{secrets.token_hex(4)}")
    with Stack() as stack, McpClient(stack.url, stack.key) as client:
        client.output("here", "echo kept >file")
        stack.stop_agent()
        for run_root, named in ((str(moved), "can't be used"), ("", "has moved from /run/sandkeep/engine")):
            stack.start_agent(wait=False, XDG_RUNTIME_DIR=run_root)
            assert stack.agent.wait(timeout=20) == 1
            said = stack.log("agent").splitlines()[-1]
            assert named in said and "XDG_RUNTIME_DIR" in said, said
        stack.start_agent()
        assert client.output("here", "cat file") == "kept\n"


def installer_on(prepared):
    """What deploy/install.sh says on a machine that was made so, and that this one isn't changed by."""
    command = f"mount -t tmpfs none /run && {prepared} && exec {ROOT}/deploy/install.sh --no-packages --no-image --no-start"
    done = subprocess.run(["unshare", "--mount", "--propagation", "private", "bash", "-c", command], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and done.stdout == "", done
    return done.stderr


def test_the_installer_refuses_a_machine_without_systemd_or_cgroups_of_version_2_and_says_what_to_do():
    assert "deploy/demo.sh" in installer_on("true")
    # Version 1 is a tmpfs with a folder for each kind.
    refused = installer_on("mkdir -p /run/systemd/system && mount -t tmpfs none /sys/fs/cgroup")
    assert "systemd.unified_cgroup_hierarchy=1" in refused, refused


def test_without_cgroups_of_version_2_or_delegation_it_is_said_that_limits_do_not_land():
    with Stack() as stack, McpClient(stack.url, stack.key) as client:
        said = stack.log("agent") + stack.ctl("info").stdout
        assert client.run("any", "echo works").output == "works\n"
        told = client.call("sandbox_info").text
    if "agent.no_cgroup" not in said:
        pytest.skip("this host delegates its cgroups to the tests")
    assert "don't land" in said and "Delegate=" in said and "don't land" in told, (said, told)


def test_without_selinux_both_say_what_holds_them_and_what_would_hold_them_further(stack):
    for name in ("agent", "gateway"):
        said = [line for line in (stack.state / f"{name}.log").read_text().splitlines() if " selinux" in line]
        assert said and all("deploy/selinux/install.sh" in line or "sandkeep_" in line for line in said), said


def test_a_missing_engine_is_named():
    with pytest.MonkeyPatch.context() as patch:
        import stack as module
        patch.setattr(module, "PATH", "/nonexistent")
        original = module.as_user

        def without_podman(user, variables, *command):
            line = original(user, variables, *command)
            return ["/usr/bin/setpriv", *line[1:line.index("env")], "/usr/bin/env", *line[line.index("env") + 1:]]
        patch.setattr(module, "as_user", without_podman)
        running = Stack()
        running._lay_out()
        try:
            key = running.add_key("alice")
            running.start_agent()
            running.start_gateway()
            with McpClient(running.url, key) as client:
                result = client.run("anything", "true")
            assert result.is_error and "podman" in result.text, result
        finally:
            running.stop_gateway()
            running.stop_agent()
            patch.undo()
            running.__exit__(None, None, None)


AGENT_MISTAKES = {"SANDBOX_IDLE": "soon", "SANDBOX_NETWORK": "lan", "SANDBOX_PIDS": "1", "AGENT_FRONTEND_UIDS": "no-such-user:key",
                  "AGENT_OPERATOR_UIDS": "root,nobody-here"}
GATEWAY_MISTAKES = {"SANDBOX_PORT": "70000", "SANDBOX_LINK_TTL": "0", "REQUEST_RATE": "many", "SANDBOX_HOST": "elsewhere",
                    "ALLOWED_HOSTS": "a b", "MCP_PUBLIC_BASE": "sandbox.example.com", "TLS_CERT": "/no/cert.pem"}


@pytest.mark.parametrize("name, mistakes", [("agent", AGENT_MISTAKES), ("gateway", GATEWAY_MISTAKES)])
def test_every_settings_mistake_is_named_at_once_before_anything_is_made(name, mistakes):
    running = Stack()
    running._lay_out()
    try:
        getattr(running, f"start_{name}")(wait=False, **mistakes)
        assert getattr(running, name).wait(timeout=20) == 2
        unnamed = [setting for setting in mistakes if setting not in running.log(name)]
        assert unnamed == [], running.log(name)
        assert list((running.state / name).iterdir()) == [] and list(running.run.iterdir()) == []
    finally:
        running.__exit__(None, None, None)
