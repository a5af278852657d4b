"""Files come in by a page and by curl, without passing through the model: whole, resumable, capped, and nowhere else."""

import concurrent.futures
import contextlib
import hashlib
import io
import json
import os
import re
import secrets
import sqlite3
import subprocess
import tarfile
import urllib.parse

import pytest
from mcp_client import McpClient
from stack import Stack, podman, wait_for
from test_files import fetch, link_in

PAGE = re.compile(r"\((http://[^)\s]+/up/[^)\s]+/)\)")


def open_upload(client, label, **arguments):
    result = client.call("request_upload", sandbox=label, **arguments)
    assert not result.is_error, result
    return re.search(r"upload (up-\w+)", result.text).group(1), PAGE.search(result.text).group(1)


def put(client, url, name, body, **headers):
    path = urllib.parse.urlsplit(url).path + name
    return client.send("PUT", path, body, {k.replace("_", "-"): v for k, v in headers.items()})


def sha256_inside(client, label, path):
    return client.output(label, f"sha256sum <{path}").split()[0]


def test_curl_hands_a_file_to_a_new_sandbox(alice, label, tmp_path):
    name, url = open_upload(alice, label, path="in/")
    data = secrets.token_bytes(5_000_000)
    (tmp_path / "my data.bin").write_bytes(data)
    subprocess.run(["curl", "-fsS", "-T", str(tmp_path / "my data.bin"), url], check=True, capture_output=True)
    told = alice.call("wait_upload", sandbox=label, upload=name)
    assert "in/my data.bin, 5.0 MB" in told.text, told
    assert sha256_inside(alice, label, "'in/my data.bin'") == hashlib.sha256(data).hexdigest()
    assert alice.output(label, "stat -c '%u:%g %a' in/*; ls -A in").splitlines() == ["0:0 644", "my data.bin"]


def test_pieces_go_on_where_they_stopped(alice, label):
    name, url = open_upload(alice, label)
    data = secrets.token_bytes(300_000)
    first = put(alice, url, "f.bin", data[:100_000], Content_Range="bytes 0-99999/300000")
    assert (first.status, json.loads(first.body)) == (200, {"received": 100_000, "whole": False})
    assert alice.output(label, "ls").strip() == "", "nothing is seen of it before it is whole"
    # A lie about where it stopped, and the question where it did.
    wrong = put(alice, url, "f.bin", data[200_000:], Content_Range="bytes 200000-299999/300000")
    assert (wrong.status, wrong.headers["upload-offset"]) == (409, "100000")
    asked = alice.send("HEAD", urllib.parse.urlsplit(url).path + "f.bin", headers={"Upload-Length": "300000"})
    assert asked.headers["upload-offset"] == "100000"
    assert put(alice, url, "f.bin", data[100_000:200_000], Content_Range="bytes 100000-199999/300000").status == 200
    assert put(alice, url, "f.bin", data[200_000:], Content_Range="bytes 200000-299999/300000").status == 201
    assert sha256_inside(alice, label, "f.bin") == hashlib.sha256(data).hexdigest()
    assert "f.bin, 300.0 kB" in alice.call("wait_upload", sandbox=label, upload=name).text


def test_an_upload_outlives_the_deaths_of_both(alice, label):
    with Stack() as stack, McpClient(stack.url, stack.key) as client:
        name, url = open_upload(client, "brief")
        data = secrets.token_bytes(200_000)
        assert put(client, url, "f", data[:100_000], Content_Range="bytes 0-99999/200000").status == 200
        stack.kill_gateway()
        stack.kill_agent()
        stack.start_agent()
        stack.start_gateway()
        assert put(client, url, "f", data[100_000:], Content_Range="bytes 100000-199999/200000").status == 201
        assert sha256_inside(client, "brief", "f") == hashlib.sha256(data).hexdigest()
        assert client.output("brief", "ls -A").strip() == "f"


def test_a_taken_name_makes_room_for_both_but_an_asked_one_is_replaced(alice, label):
    alice.output(label, "echo old >a.txt")
    _, url = open_upload(alice, label)
    assert put(alice, url, "a.txt", b"new\n").status == 201
    assert alice.output(label, "cat a.txt 'a (2).txt'") == "old\nnew\n"
    _, url = open_upload(alice, label, path="a.txt")
    assert put(alice, url, "whatever.bin", b"asked\n").status == 201
    assert alice.output(label, "cat a.txt") == "asked\n"


def test_what_is_too_much_is_refused_before_it_comes(alice, label):
    _, url = open_upload(alice, label, max_bytes=1000)
    assert put(alice, url, "a", b"x" * 1001).status == 413
    assert put(alice, url, "a", b"x" * 600).status == 201
    assert put(alice, url, "b", b"x" * 600).status == 413
    assert put(alice, url, "c", b"x" * 10, Content_Range="bytes 0-9/99999").status == 413
    assert alice.output(label, "ls -A").split() == ["a"]


@pytest.fixture
def other_person(stack):
    """Nobody has more than 32 uploads open, and the tests of this file open many."""
    key = stack.add_key(f"p-{secrets.token_hex(4)}")
    with McpClient(stack.url, key) as client:
        wait_for("the new key", lambda: client.send("GET", "/mcp", headers={"Authorization": f"Bearer {key}"}).status != 401, 2)
        yield client


@pytest.mark.parametrize("name", [b"new\nline", b"q'u\"o`te", b"100% %41", "rtl\u202egpj.exe".encode(), b"-rf", b"$(touch pwned)", b"x" * 255,
                                  b"caf\xe9 \xff.txt", b"deep/er/" + b"y" * 200])
def test_names_of_any_kind_come_in_and_go_out(other_person, label, name):
    upload, url = open_upload(other_person, label, path="in/")
    data = secrets.token_bytes(10_000)
    assert put(other_person, url, urllib.parse.quote(name), data).status == 201
    assert "10.0 kB" in other_person.call("wait_upload", sandbox=label, upload=upload).text
    inside = other_person.output(
        label, "find in -type f -print0 | od -An -v -tx1 | tr -d ' \\n'; echo; find in -type f -exec sha256sum {} + | tr -d '\\\\'")
    listed, digest = inside.split("\n", 1)
    assert bytes.fromhex(listed) == b"in/" + name + b"\0"
    assert digest.split()[0] == hashlib.sha256(data).hexdigest()
    archive = fetch(other_person, link_in(other_person.call("present_file", sandbox=label, path="in", format="tar"))).body
    with tarfile.open(fileobj=io.BytesIO(archive), encoding="utf-8", errors="surrogateescape") as tar:
        (member,) = [member for member in tar if member.isfile()]
        assert tar.extractfile(member).read() == data
    assert other_person.output(label, "ls") == "in\n", "no name was taken for more than one"


@pytest.mark.parametrize("name", ["..%2Fescape", "%2Fetc%2Fpasswd", "link/x", "dir/../../x", "fifo", "a%00b", "%zz", "x" * 256])
def test_no_way_out_of_the_workspace(alice, shared_label, name):
    alice.run(shared_label, "ln -sfn /etc link; rm -f fifo; mkfifo fifo")
    _, url = open_upload(alice, shared_label)
    assert put(alice, url, name, b"evil").status in (400, 409), name
    assert alice.output(shared_label, "ls /etc/x /escape /workspace/../x 2>&1 | grep -c 'No such'").strip() == "3"


def test_halves_and_repeats_and_strangers(alice, label):
    name, url = open_upload(alice, label)
    path = urllib.parse.urlsplit(url).path
    for bad in ("bytes 0-9/5", "bytes 5-1/10", "bytes x", "octets 0-1/2", "bytes 0-3/4, 5-6/7"):
        assert put(alice, url, "f", b"xxxx", Content_Range=bad).status == 400, bad
    assert put(alice, url, "f", b"xxxx", Content_Range="bytes 0-9/10").status == 413
    for _ in range(3):
        assert put(alice, url, "same", b"same").status == 201
    assert alice.send("PUT", path[:-3] + "AA/f", b"x").status == 404
    assert alice.send("DELETE", path + "f").status == 405
    assert alice.send("POST", path).status == 200
    assert put(alice, url, "late", b"x").status == 410
    assert alice.send("GET", path).status == 410
    assert "page is over" in alice.call("wait_upload", sandbox=label, upload=name).text


def test_nothing_is_left_of_what_was_never_finished(alice, label):
    _, url = open_upload(alice, label)
    assert put(alice, url, "half", b"x" * 10, Content_Range="bytes 0-9/100000").status == 200
    assert ".part" in alice.output(label, "ls -A")
    assert alice.send("POST", urllib.parse.urlsplit(url).path).status == 200
    assert alice.output(label, "ls -A").strip() == ""


def test_waiting_ends_when_something_arrives(stack, alice, label):
    name, url = open_upload(alice, label)
    assert "Nothing has arrived" in alice.call("wait_upload", sandbox=label, upload=name, wait_seconds=0).text
    with concurrent.futures.ThreadPoolExecutor(1) as pool, McpClient(stack.url, stack.key) as other:
        waiting = pool.submit(other.call, "wait_upload", sandbox=label, upload=name, wait_seconds=60)
        put(alice, url, "f", b"x")
        assert "f, 1 byte" in waiting.result(30).text


def test_another_principal_waits_for_nothing(alice, bob, label):
    name, _ = open_upload(alice, label)
    assert bob.call("wait_upload", sandbox=label, upload=name).is_error


def test_an_arrival_that_its_sender_did_not_hear_of_makes_no_second_file(alice, label):
    _, url = open_upload(alice, label)

    def last(**headers):
        return put(alice, url, "f", b"y" * 10, Content_Range="bytes 10-19/20", **headers)

    # By the id that the sender gave it, and by what came before the last piece.
    for headers in ({"Upload_Id": "a1"}, {}):
        assert put(alice, url, "f", b"x" * 10, Content_Range="bytes 0-9/20", **headers).status == 200
        assert [last(**headers).status for _ in range(3)] == [201] * 3
    path = urllib.parse.urlsplit(url).path + "f"
    asked = alice.send("HEAD", path, headers={"Upload-Length": "20", "Upload-Id": "a1"})
    assert (asked.headers["upload-offset"], asked.headers["upload-complete"]) == ("20", "?1")
    assert put(alice, url, "f", b"x" * 20, Upload_Id="a1").status == 201
    assert put(alice, url, "f", b"x", Upload_Id="no/id").status == 400
    assert alice.output(label, "ls -A").splitlines() == ["f", "f (2)"]


def test_where_one_file_was_asked_for_no_second_one_is_taken(alice, label):
    name, url = open_upload(alice, label, path="a.txt")
    assert put(alice, url, "first.txt", b"first", Upload_Id="a").status == 201
    assert put(alice, url, "second.txt", b"other", Upload_Id="b").status == 410
    assert put(alice, url, "first.txt", b"first", Upload_Id="a").status == 201
    assert alice.send("GET", urllib.parse.urlsplit(url).path).status == 410
    assert alice.output(label, "cat a.txt; ls -A") == "firsta.txt\n"
    assert "a.txt, 5 bytes" in alice.call("wait_upload", sandbox=label, upload=name).text


def test_asking_how_much_has_come_makes_nothing_and_ends_nothing(alice, label):
    _, url = open_upload(alice, label)

    def asked():
        path = urllib.parse.urlsplit(url).path + "in/f"
        answer = alice.send("HEAD", path, headers={"Upload-Length": "20"})
        return answer.status, answer.headers["upload-offset"]

    assert asked() == (200, "0")
    assert label not in alice.call("sandbox_info").text
    assert put(alice, url, "in/f", b"x" * 10, Content_Range="bytes 0-9/20").status == 200
    assert asked() == (200, "10")
    # As a death after the last byte and before the file's name leaves it.
    alice.output(label, "printf yyyyyyyyyy >>in/.sandkeep-*.part")
    assert asked() == (200, "19"), "the last byte is asked for again"
    assert ".part" in alice.output(label, "ls -A in")
    assert put(alice, url, "in/f", b"y", Content_Range="bytes 19-19/20").status == 201
    assert alice.output(label, "cat in/f; ls -A in") == "xxxxxxxxxxyyyyyyyyyyf\n"


def test_a_file_that_took_its_place_as_the_gateway_died_is_no_second_one():
    with Stack() as stack, McpClient(stack.url, stack.key) as client:
        name, url = open_upload(client, "brief")

        def last():
            with McpClient(stack.url, stack.key) as sender:
                return put(sender, url, "f", b"y" * 10, Content_Range="bytes 10-19/20", Upload_Id="a1")

        assert put(client, url, "f", b"x" * 10, Content_Range="bytes 0-9/20", Upload_Id="a1").status == 200
        # The agent puts it in its place, and the gateway can't note it: its database is another's.
        with contextlib.closing(sqlite3.connect(stack.state / "gateway" / "gateway.db", isolation_level=None)) as database, \
                concurrent.futures.ThreadPoolExecutor(1) as pool:
            database.execute("BEGIN IMMEDIATE")
            sending = pool.submit(last)
            wait_for("the file", lambda: client.output("brief", "ls -A").split() == ["f"], 30)
            stack.kill_gateway()
            database.execute("ROLLBACK")
            assert sending.exception() is not None, "nobody was told"
        stack.start_gateway()
        path = urllib.parse.urlsplit(url).path + "f"
        asked = client.send("HEAD", path, headers={"Upload-Length": "20", "Upload-Id": "a1"})
        assert (asked.headers["upload-offset"], asked.headers["upload-complete"]) == ("20", "?1")
        assert last().status == 201
        assert client.output("brief", "cat f; ls -A") == "x" * 10 + "y" * 10 + "f\n"
        assert "f, 20 bytes" in client.call("wait_upload", sandbox="brief", upload=name).text


@pytest.fixture
def small_volume(tmp_path):
    """A sandbox whose volume is a file system of 8 MiB: of a kind that can reserve room, or of one that can't."""
    with Stack(agent_settings={"SANDBOX_MIN_FREE": "0"}) as stack, McpClient(stack.url, stack.key) as client, \
            contextlib.ExitStack() as undo:
        client.output("small", "echo here >old.txt")
        (volume,) = stack.volumes()
        data = podman("volume", "inspect", "--format", "{{.Mountpoint}}", volume).strip()

        def mount(kind):
            owner = os.stat(data)
            image = tmp_path / "image"
            with open(image, "wb") as file:
                file.truncate(8 << 20)
            subprocess.run([f"mkfs.{kind}", "-q", "-F", "-m", "0", image], check=True)
            subprocess.run(["mount", "-o", "loop", image, data], check=True)
            undo.callback(subprocess.run, ["umount", "-l", data], check=True)
            os.chown(data, owner.st_uid, owner.st_gid)
            os.rmdir(f"{data}/lost+found")
            stack.kill_agent()
            stack.start_agent()
            return data

        yield client, mount


@pytest.mark.parametrize("kind", ["ext4", "ext2"])
def test_an_upload_that_fills_the_disk_leaves_nothing_and_the_next_one_goes_through(small_volume, kind):
    client, mount = small_volume
    data = mount(kind)
    _, url = open_upload(client, "small")
    if kind == "ext4":
        refused = put(client, url, "large.bin", b"x" * 1000, Upload_Id="a", Content_Range="bytes 0-999/20000000")
    else:
        # Not much more than there is room for: who is refused at the end must still be able to hear it.
        refused = put(client, url, "large.bin", secrets.token_bytes(8_300_000), Upload_Id="a")
    assert refused.status == 413 and b"No space left" in refused.body, (refused.status, refused.body)
    # What has come of it may still become whole, and keeps its room until the person is done.
    client.send("POST", urllib.parse.urlsplit(url).path)
    wait_for("what was begun to go", lambda: os.listdir(data) == [], 30)
    _, url = open_upload(client, "small")
    assert put(client, url, "fits.bin", b"x" * 1_000_000).status == 201
    assert os.listdir(data) == ["fits.bin"] and os.stat(f"{data}/fits.bin").st_size == 1_000_000
