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


def test_every_settings_mistake_is_named_before_anything_starts():
    running = Stack()
    running._lay_out()
    try:
        running.start_agent(wait=False, SANDBOX_IDLE="soon", SANDBOX_NETWORK="lan", SANDBOX_PIDS="1")
        assert running.agent.wait(timeout=20) == 2
        for part in ("SANDBOX_IDLE", "SANDBOX_NETWORK", "SANDBOX_PIDS"):
            assert part in running.log("agent")
    finally:
        running.__exit__(None, None, None)
