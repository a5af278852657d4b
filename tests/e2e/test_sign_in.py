"""A person signs in with an access key on the real page, and the client that asked runs a command with what it got."""

import json
import subprocess

import pytest
from mcp_client import McpClient
from sign_in import Page, SignInClient
from stack import wait_for


@pytest.fixture
def client(stack):
    return SignInClient(stack.url)


def status_of(stack, token):
    with McpClient(stack.url, token) as mcp:
        return mcp.send("GET", "/mcp", headers={"Authorization": f"Bearer {token}"}).status


def test_a_command_runs_with_the_token_of_a_sign_in(stack, client, either_era, label):
    tokens = client.sign_in(stack.key)
    with McpClient(stack.url, tokens["access_token"], either_era.era) as signed_in:
        assert signed_in.output(label, "echo by token > note; cat note").strip() == "by token"
    # The key itself is the same principal.
    assert either_era.output(label, "cat note").strip() == "by token"


def test_another_persons_sign_in_reaches_another_sandbox(stack, client, alice, label):
    alice.output(label, "echo alice > note")
    tokens = client.sign_in(stack.key2)
    with McpClient(stack.url, tokens["access_token"]) as bob:
        assert bob.run(label, "cat note").exit_code == 1


def test_everybody_stays_signed_in_through_a_kill_of_the_gateway(stack, client):
    tokens = client.sign_in(stack.key)
    stack.kill_gateway()
    stack.start_gateway()
    assert status_of(stack, tokens["access_token"]) == 405
    reply = client.refresh(tokens["refresh_token"])
    assert reply.status == 200, reply.text
    assert status_of(stack, reply.json["access_token"]) == 405


def test_removing_a_key_ends_its_sign_ins_and_says_what_is_left(stack, client, label):
    key = stack.add_key("dora")
    wait_for("the new key", lambda: status_of(stack, key) == 405, 2)
    tokens = client.sign_in(key)
    with McpClient(stack.url, tokens["access_token"]) as dora:
        dora.output(label, "true")
    command = stack.keys_command("remove", "dora")
    done = subprocess.run(command, cwd="/", capture_output=True, text=True, timeout=60, check=True)
    assert "1 sandbox " in done.stderr, done.stderr
    wait_for("the token's end", lambda: status_of(stack, tokens["access_token"]) == 401, 1)
    assert client.refresh(tokens["refresh_token"]).json["error"] == "invalid_grant"


def test_signing_out_ends_the_sign_in(stack, client):
    tokens = client.sign_in(stack.key)
    assert client.revoke(tokens["refresh_token"]).status == 200
    assert status_of(stack, tokens["access_token"]) == 401
    assert client.refresh(tokens["refresh_token"]).status == 400


def test_a_wrong_key_and_a_no_give_nothing(stack, client):
    page = client.discover().register().open_page()
    wrong = client.press(page, "sk-wrong")
    assert wrong.status in (403, 429) and "known here" in wrong.text
    denied = Page(client.press(page, decision="deny").text).goes_to
    assert "error=access_denied" in denied and "code=" not in denied


def test_nothing_that_opens_a_door_stands_in_the_gateways_files_or_log(stack, client):
    tokens = client.sign_in(stack.key)
    everything = b"".join(path.read_bytes() for path in (stack.state / "gateway").iterdir() if path.is_file())
    everything += stack.log("gateway").encode()
    for secret in (stack.key, tokens["access_token"], tokens["refresh_token"]):
        assert secret[3:].encode() not in everything


@pytest.mark.parametrize("path", ["/.well-known/oauth-authorization-server/mcp", "/mcp/.well-known/oauth-protected-resource",
                                  "/.well-known/anything"])
def test_other_well_known_addresses_are_a_json_404(client, path):
    reply = client.ask("GET", path)
    assert reply.status == 404 and "error" in json.loads(reply.text)
