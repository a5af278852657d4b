"""The programs that people use as clients, as they are published: each with an access key in its settings, and signing in. Each lists
and calls; those that call only what a model asks for are given one that does."""

import contextlib
import json

import pytest
from codex_server import CodexServer
from npm_client import Person, program_of
from scripted_model import ScriptedModel

COMMAND = "echo hello from $(uname)"
HELLO = "hello from Linux"


@pytest.fixture
def alice(stack, tmp_path):
    return Person(tmp_path, stack.key)


def call_by_inspector(person, shared_label, *target, command=COMMAND):
    arguments = json.dumps({"sandbox": shared_label, "command": command})
    return person.run("inspector", "--cli", *target, "--method", "tools/call", "--tool-name", "run_command", "--tool-args-json",
                      arguments, "--format", "json")


def inspector_settings(person, url, era):
    server = {"type": "streamable-http", "url": url, "headers": {"Authorization": f"Bearer {person.key}"}, "protocolEra": era}
    return ["--config", person.write("inspector.json", json.dumps({"mcpServers": {"n": server}})), "--server", "n"]


@pytest.mark.parametrize("era", ["modern", "legacy", "auto"])
def test_the_inspector_lists_and_calls(alice, stack, shared_label, era):
    target = inspector_settings(alice, stack.url, era)
    assert "run_command" in alice.run("inspector", "--cli", *target, "--method", "tools/list", "--format", "json")
    assert HELLO in call_by_inspector(alice, shared_label, *target)


# It is asked after until it has ended.
def test_the_inspector_waits_for_a_command_that_is_a_task(alice, stack, shared_label):
    target = inspector_settings(alice, stack.url, "modern")
    assert HELLO in call_by_inspector(alice, shared_label, *target, command=f"sleep 4; {COMMAND}")


def test_the_inspector_signs_in(alice, stack, shared_label):
    assert HELLO in call_by_inspector(alice, shared_label, stack.url, "--transport", "http")


def call_by_mcp_remote(person, shared_label, url, *how):
    """A local client that knows no HTTP, over the bridge."""
    bridge = ["--", program_of("mcp-remote"), url, "--allow-http", "--transport", "http-only", *how]
    target = ["--cli", "--transport", "stdio", "--format", "json"]
    assert "run_command" in person.run("inspector", *target, "--method", "tools/list", *bridge)
    arguments = json.dumps({"sandbox": shared_label, "command": COMMAND})
    return person.run("inspector", *target, "--method", "tools/call", "--tool-name", "run_command", "--tool-args-json", arguments,
                      *bridge)


def test_mcp_remote_carries_calls_of_a_local_client(alice, stack, shared_label):
    assert HELLO in call_by_mcp_remote(alice, shared_label, stack.url, "--header", alice.header)


def test_mcp_remote_signs_in(alice, stack, shared_label):
    # It ends with its input, whatever it is doing.
    said = alice.read_until("run_command", "mcp-remote-client", stack.url, "--allow-http", "--transport", "http-only")
    assert "run_command" in said
    # What it got is kept in its person's home.
    assert HELLO in call_by_mcp_remote(alice, shared_label, stack.url)


def test_mcporter_lists_and_calls(alice, stack, shared_label):
    how = ["--http-url", stack.url, "--allow-http", "--header", f"Authorization=Bearer {alice.key}"]
    assert "run_command" in alice.run("mcporter", "list", *how)
    assert HELLO in alice.run("mcporter", "call", *how, "run_command", f"sandbox={shared_label}", f"command={COMMAND}")


def test_mcporter_signs_in(alice, stack, shared_label):
    how = ["--http-url", stack.url, "--allow-http"]
    alice.run("mcporter", "auth", *how)
    assert HELLO in alice.run("mcporter", "call", *how, "run_command", f"sandbox={shared_label}", f"command={COMMAND}")


def call_by_mcpc(person, shared_label):
    try:
        assert "run_command" in person.run("mcpc", "--json", "@s", "tools-list")
        return person.run("mcpc", "--json", "@s", "tools-call", "run_command", f"sandbox:={shared_label}", f"command:={COMMAND}")
    finally:
        person.run("mcpc", "close", "@s", must=False)


def connect_mcpc(person, url, *how):
    """It gives its own second process five seconds to start, which a busy machine may not have."""
    for _ in range(5):
        said = person.run("mcpc", "connect", url, "@s", *how, must=False)
        if "Bridge failed to start" not in said:
            break
    assert "Session @s created" in said, said


def test_mcpc_lists_and_calls(alice, stack, shared_label):
    connect_mcpc(alice, stack.url, "--header", alice.header)
    assert HELLO in call_by_mcpc(alice, shared_label)


def test_mcpc_signs_in(alice, stack, shared_label):
    alice.run("mcpc", "login", stack.url)
    connect_mcpc(alice, stack.url)
    assert HELLO in call_by_mcpc(alice, shared_label)


@contextlib.contextmanager
def a_model_that_calls(shared_label):
    with ScriptedModel("run_command", {"sandbox": shared_label, "command": COMMAND}) as model:
        yield model
    assert len(model.results) == 1 and HELLO in model.results[0], model.results


def call_by_claude_code(person, shared_label):
    with a_model_that_calls(shared_label) as model:
        # Else it offers its model a search for tools, and only then the tools.
        person.environment |= {"ANTHROPIC_BASE_URL": model.url, "ANTHROPIC_API_KEY": "none", "ENABLE_TOOL_SEARCH": "false",
                               "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}
        person.run("claude", "-p", "say hello", "--allowedTools", "mcp__n__run_command")


def test_claude_code_lists_and_calls(alice, stack, shared_label):
    alice.run("claude", "mcp", "add", "--transport", "http", "n", stack.url, "--header", alice.header)
    assert "Connected" in alice.run("claude", "mcp", "list")
    call_by_claude_code(alice, shared_label)


def test_claude_code_signs_in(alice, stack, shared_label):
    alice.run("claude", "mcp", "add", "--transport", "http", "n", stack.url)
    assert "Connected" not in alice.run("claude", "mcp", "list")
    assert "Authenticated" in alice.run("claude", "mcp", "login", "n", terminal=True)
    assert "Connected" in alice.run("claude", "mcp", "list")
    call_by_claude_code(alice, shared_label)


def call_by_codex(person, shared_label):
    with CodexServer(person) as server:
        assert "run_command" in str(server.ask("mcpServerStatus/list"))
        return str(server.call("n", "run_command", sandbox=shared_label, command=COMMAND))


def test_codex_calls(alice, stack, shared_label):
    alice.write("codex/config.toml", f'[mcp_servers.n]\nurl = "{stack.url}"\nbearer_token_env_var = "PERSON_KEY"\n')
    assert HELLO in call_by_codex(alice, shared_label)


def test_codex_signs_in(alice, stack, shared_label):
    alice.run("codex", "mcp", "add", "n", "--url", stack.url)
    assert "OAuth" in alice.run("codex", "mcp", "list")
    assert HELLO in call_by_codex(alice, shared_label)


# It signs in only when somebody sits before it.
def test_gemini_cli_lists_and_calls(alice, stack, shared_label):
    server = {"httpUrl": stack.url, "headers": {"Authorization": f"Bearer {alice.key}"}, "trust": True}
    settings = {"mcpServers": {"n": server}, "privacy": {"usageStatisticsEnabled": False},
                "security": {"folderTrust": {"enabled": False}, "auth": {"selectedType": "gemini-api-key"}}}
    alice.write(".gemini/settings.json", json.dumps(settings))
    assert "Connected" in alice.run("gemini", "mcp", "list")
    with a_model_that_calls(shared_label) as model:
        alice.environment |= {"GOOGLE_GEMINI_BASE_URL": model.url, "GEMINI_API_KEY": "none"}
        alice.run("gemini", "-m", "gemini-2.5-flash", "-p", "say hello", "--approval-mode", "yolo")


@pytest.mark.parametrize("by", ["key", "sign-in"])
def test_opencode_lists_and_calls(alice, stack, shared_label, by):
    # Its own five seconds are few on a busy machine.
    server = {"type": "remote", "url": stack.url, "timeout": 60_000}
    if by == "key":
        server |= {"headers": {"Authorization": f"Bearer {alice.key}"}, "oauth": False}
    with a_model_that_calls(shared_label) as model:
        provider = {"npm": "@ai-sdk/openai-compatible", "name": "scripted", "models": {"scripted": {"name": "scripted"}},
                    "options": {"baseURL": f"{model.url}/v1", "apiKey": "none"}}
        alice.write("opencode.json", json.dumps({"mcp": {"n": server}, "provider": {"scripted": provider}, "permission": "allow",
                                                 "share": "disabled", "autoupdate": False}))
        if by == "sign-in":
            assert "successful" in alice.run("opencode", "mcp", "auth", "n")
        assert "connected" in alice.run("opencode", "mcp", "list")
        alice.run("opencode", "run", "-m", "scripted/scripted", "say hello")
