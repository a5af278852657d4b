"""Five gibibytes come in, whole by curl or in pieces as the page sends them, and go out again: not a byte another one.

Every byte is written, so it takes the room of one such file twice over, and half a minute of a disk for each.
"""

import hashlib
import http.client
import json
import os
import shutil
import subprocess
import urllib.parse

import pytest
from mcp_client import McpClient
from stack import Stack, wait_for
from test_files import link_in
from test_uploads import open_upload

GIB = 1 << 30
MIB = 1 << 20
# More than four bytes count, and no whole number of blocks.
SIZE = 5 * GIB + 3
PIECE = 32 * MIB
# What the host keeps free besides, as SANDBOX_MIN_FREE has it below.
ROOM = SIZE + 2 * GIB


@pytest.fixture(scope="module")
def roomy():
    """A stack whose operator allows such files: by default nobody has more than half of what is free."""
    if shutil.disk_usage("/var/lib").free < 2 * ROOM:
        pytest.skip(f"it takes {2 * ROOM // GIB} GiB of disk below /var/lib")
    settings = {"SANDBOX_MIN_FREE": "1g", "SANDBOX_DISK": "12g", "PRINCIPAL_DISK": "12g"}
    with Stack(settings) as stack, McpClient(stack.url, stack.key, timeout=300) as client:
        yield stack, client


def block(number):
    """Each its own, so that none can stand for another; all but eight bytes of it are zeros."""
    return number.to_bytes(8, "little") + bytes(MIB - 8)


def bytes_at(first, length):
    """Of a file of such blocks; `first` is at the begin of one."""
    parts = [block(number) for number in range(first // MIB, (first + length + MIB - 1) // MIB)]
    return b"".join(parts)[:length]


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """The file, most of it holes here, and what it hashes to."""
    path = tmp_path_factory.mktemp("large") / "big.bin"
    digest = hashlib.sha256()
    with open(path, "wb") as file:
        file.truncate(SIZE)
        for at in range(0, SIZE, MIB):
            data = bytes_at(at, min(MIB, SIZE - at))
            os.pwrite(file.fileno(), data[:8], at)
            digest.update(data)
    return path, digest.hexdigest()


def hash_inside(client, label, path):
    return client.output(label, f"sha256sum <{path}", wait_seconds=280).split()[0]


def test_five_gibibytes_come_in_by_curl_and_go_out_again(roomy, large):
    stack, client = roomy
    path, digest = large
    name, url = open_upload(client, "curl", path="in/", max_bytes=SIZE)
    subprocess.run(["curl", "-fsS", "-T", path, url], check=True, capture_output=True)
    told = client.call("wait_upload", sandbox="curl", upload=name).text
    assert "in/big.bin, 5.4 GB" in told, told
    assert client.output("curl", "stat -c '%s %u %a' in/big.bin; ls -A in") == f"{SIZE} 0 644\nbig.bin\n"
    assert hash_inside(client, "curl", "in/big.bin") == digest
    link = f"http://127.0.0.1:{stack.port}{link_in(client.call('present_file', sandbox='curl', path='in/big.bin'))}"
    whole = subprocess.run(f"curl -fsS '{link}' | sha256sum", shell=True, check=True, capture_output=True, text=True)
    assert whole.stdout.split()[0] == digest
    last = subprocess.run(["curl", "-fsS", "-r", f"{SIZE - 10}-", link], check=True, capture_output=True)
    assert last.stdout == bytes_at(5 * GIB - MIB, MIB + 3)[-10:]
    client.output("curl", "rm -r in")


def received(client, path):
    asked = client.send("HEAD", path, headers={"Upload-Length": str(SIZE), "Upload-Id": "large"})
    assert asked.status == 200, asked
    return int(asked.headers["upload-offset"])


def send_piece(connection, path, first):
    length = min(PIECE, SIZE - first)
    connection.request("PUT", path, bytes_at(first, length),
                       {"Content-Range": f"bytes {first}-{first + length - 1}/{SIZE}", "Upload-Id": "large"})
    answer = connection.getresponse()
    return answer.status, json.loads(answer.read())


def test_five_gibibytes_come_in_by_pieces_through_the_deaths_of_both(roomy, large):
    stack, client = roomy
    _, digest = large
    _, url = open_upload(client, "pieces", max_bytes=SIZE)
    path = urllib.parse.urlsplit(url).path + "big.bin"
    free = shutil.disk_usage(stack.state).free
    at = 0
    while at < SIZE:
        connection = http.client.HTTPConnection("127.0.0.1", stack.port, timeout=60)
        # Behind the first, and beyond what four bytes count, both die between two pieces.
        until = next((stop for stop in (PIECE, 4 * GIB + PIECE) if stop > at), SIZE)
        while at < until:
            status, told = send_piece(connection, path, at)
            at = min(at + PIECE, SIZE)
            assert (status, told) == (201 if at == SIZE else 200, {"received": at, "whole": at == SIZE})
        connection.close()
        if at == SIZE:
            break
        assert free - shutil.disk_usage(stack.state).free > SIZE - GIB, "all of its room is reserved with its first byte"
        stack.kill_gateway()
        stack.kill_agent()
        stack.start_agent()
        stack.start_gateway()
        wait_for("the upload to be asked for", lambda: received(client, path) == at, 30)
    assert client.output("pieces", "stat -c %s big.bin; ls -A") == f"{SIZE}\nbig.bin\n"
    assert hash_inside(client, "pieces", "big.bin") == digest
    client.output("pieces", "rm big.bin")
