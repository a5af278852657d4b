"""The `keys` command beside a running gateway: what it does counts within a second, for keys and for all that hangs on them."""

import contextlib
import re
import sqlite3
import subprocess
import time
import urllib.parse

import pytest
from mcp_client import McpClient
from sign_in import SignInClient
from stack import Stack, wait_for
from test_files import fetch, link_in
from test_uploads import open_upload

AT_ONCE, SOON = 1, 10  # seconds


def status_of(stack, token):
    with McpClient(stack.url, token) as client:
        return client.send("GET", "/mcp", headers={"Authorization": f"Bearer {token}"}).status


def opens(stack, token):
    return status_of(stack, token) == 405


def refused(command):
    done = subprocess.run(command, cwd="/", capture_output=True, text=True, timeout=60)
    assert done.returncode in (1, 2) and done.stdout == "", done
    return done.returncode, done.stderr


@pytest.fixture
def carol(stack):
    """A name of its own, and its key."""
    name = f"carol-{time.monotonic_ns()}"
    key = stack.add_key(name)
    wait_for("the new key", lambda: opens(stack, key), SOON)
    yield name, key
    subprocess.run(stack.keys_command("remove", name), cwd="/", capture_output=True, timeout=60)


def test_a_key_is_printed_once_and_nowhere_else(stack, carol):
    name, key = carol
    assert re.fullmatch(r"sk-[A-Za-z0-9_-]{43}", key)
    listed = stack.keys("list")
    assert name in listed and key not in listed and key[3:] not in listed


def test_a_second_device_is_the_same_person(stack, carol, label):
    name, key = carol
    phone = stack.keys("add", name, "--device", "phone")
    wait_for("the phone's key", lambda: opens(stack, phone), SOON)
    with McpClient(stack.url, key) as first, McpClient(stack.url, phone) as second:
        first.output(label, "echo mine >f")
        assert second.output(label, "cat f") == "mine\n"
    assert "phone" in stack.keys("list")
    assert refused(stack.keys_command("add", name, "--device=phone"))[0] == 1
    stack.keys("remove", name, "--device", "phone")
    wait_for("its end", lambda: status_of(stack, phone) == 401, AT_ONCE)
    assert opens(stack, key)


def test_a_rotated_key_and_its_sign_in_end_with_the_overlap(stack, carol):
    name, key = carol
    token = SignInClient(stack.url).sign_in(key)["access_token"]
    begun = time.monotonic()
    fresh = stack.keys("rotate", name, "--overlap", "4s")
    wait_for("the new key", lambda: opens(stack, fresh), SOON)
    assert opens(stack, key) and opens(stack, token), "until then both are good"
    wait_for("the old key's end", lambda: status_of(stack, key) == 401, SOON)
    assert time.monotonic() - begun >= 4
    assert status_of(stack, token) == 401
    assert opens(stack, fresh)


def test_a_key_rotated_now_ends_at_once_with_its_sign_ins_and_the_sandboxes_stay(stack, carol, label):
    name, key = carol
    signed_in = SignInClient(stack.url)
    tokens = signed_in.sign_in(key)
    with McpClient(stack.url, key) as client:
        client.output(label, "echo kept >f")
    fresh = stack.keys("rotate", name, "--now")
    wait_for("the end of both", lambda: {status_of(stack, key), status_of(stack, tokens["access_token"])} == {401}, AT_ONCE)
    assert signed_in.refresh(tokens["refresh_token"]).json["error"] == "invalid_grant"
    with McpClient(stack.url, fresh) as client:
        assert client.output(label, "cat f") == "kept\n"


def test_a_removed_person_loses_keys_sign_ins_links_and_pages_at_once_and_is_back_by_adoption(stack, carol, label):
    name, key = carol
    token = SignInClient(stack.url).sign_in(key)["access_token"]
    with McpClient(stack.url, key) as client:
        client.output(label, "echo kept >f.txt")
        link = link_in(client.call("present_file", sandbox=label, path="f.txt"))
        page = urllib.parse.urlsplit(open_upload(client, label)[1]).path
        assert fetch(client, link).body == b"kept\n" and fetch(client, page).status == 200

        def over():
            return status_of(stack, key) == status_of(stack, token) == 401 and \
                {fetch(client, link).status, fetch(client, page).status} <= {404, 410}
        done = subprocess.run(stack.keys_command("remove", name), cwd="/", capture_output=True, text=True, timeout=60, check=True)
        wait_for("the end of all", over, AT_ONCE)
    assert "1 sandbox " in done.stderr and "--adopt" in done.stderr
    back = stack.keys("add", name, "--adopt")
    wait_for("the new key", lambda: opens(stack, back), SOON)
    with McpClient(stack.url, back) as client:
        assert client.output(label, "cat f.txt") == "kept\n"
    assert status_of(stack, key) == status_of(stack, token) == 401, "what was taken back stays so"
    assert refused(stack.keys_command("add", name, "--adopt"))[0] == 1, "the name is in use"


def test_who_is_added_under_a_removed_name_is_somebody_else(stack, carol, label):
    name, key = carol
    with McpClient(stack.url, key) as client:
        client.output(label, "echo private >f.txt")
    stack.keys("remove", name)
    other = stack.add_key(name)
    wait_for("the new key", lambda: opens(stack, other), SOON)
    with McpClient(stack.url, other) as client:
        assert client.run(label, "cat f.txt").exit_code == 1


def test_wrong_words_are_told_how_and_change_nothing(stack, carol):
    name, key = carol
    before = stack.keys("list")
    for words in ((), ("add",), ("list", "x"), ("rotate", name, "--now", "--overlap=1h"), ("rotate", name, "--adopt"),
                  ("add", name, "--now"), ("remove", name, "--overlap=1h"), ("rotate", name, "--overlap=-1h")):
        status, said = refused(stack.keys_command(*words))
        assert status == 2 and "rotate NAME" in said, (words, said)
    assert stack.keys("list") == before and opens(stack, key)


@contextlib.contextmanager
def at_rest():
    """A stack whose gateway has ended with all it wrote in one file."""
    with Stack() as own:
        own.stop_gateway()
        path = own.state / "gateway" / "gateway.db"
        with contextlib.closing(sqlite3.connect(path)) as database:
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        yield own, path


def test_a_damaged_database_stops_the_start_is_named_and_left_as_it_is():
    with at_rest() as (own, path):
        whole = path.read_bytes()
        for damaged in (b"x" * len(whole), whole[:4096] + b"\xa5" * 4096 + whole[8192:], whole[:len(whole) // 2]):
            path.write_bytes(damaged)
            own.start_gateway(wait=False)
            assert own.gateway.wait(timeout=20) == 1
            said = own.log("gateway").splitlines()[-1]
            assert str(path) in said and "damaged" in said and "backup" in said, said
            assert path.read_bytes() == damaged
            assert "damaged" in refused(own.keys_command("add", "dora"))[1]
            assert path.read_bytes() == damaged
        path.write_bytes(whole)
        own.start_gateway()
        assert opens(own, own.key) and opens(own, own.key2), "nobody has to sign in again"
