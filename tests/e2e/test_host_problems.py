"""A host that isn't ready says what is missing and how to mend it, and works as soon as it is mended."""

import pytest
from mcp_client import McpClient
from stack import Stack


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
