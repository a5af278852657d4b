"""A download takes the shortest way that there is: the agent opens the file and hands the descriptor over, and not one byte of
it goes through the agent. Where that can't be, it is streamed, and the client sees no difference."""

import contextlib
import hashlib
import os
import pathlib
import re
import socket
import subprocess

import pytest
from mcp_client import McpClient
from stack import wait_for
from test_files import link_in
from test_tls import TlsClient, TlsStack

SIZE = 64 << 20
CURL = ("curl", "-fsSk", "--max-time", "120")


def bytes_read(process):
    """What the process itself has read so far, of anything."""
    return int(pathlib.Path(f"/proc/{process.pid}/io").read_text().split("rchar: ")[1].split()[0])


def open_files(process, ending):
    """Descriptors of the process for files of this name, each with how it was opened."""
    found = {}
    for link in pathlib.Path(f"/proc/{process.pid}/fd").iterdir():
        with contextlib.suppress(OSError):
            if os.readlink(link).endswith(ending):
                flags = pathlib.Path(f"/proc/{process.pid}/fdinfo/{link.name}").read_text().split("flags:")[1].split()[0]
                found[link.name] = int(flags, 8) & os.O_ACCMODE
    return found


@pytest.fixture(scope="module")
def large(stack):
    """The link of a file, and what is in it."""
    with McpClient(stack.url, stack.key) as client:
        client.output("fast-path", f"head -c {SIZE} /dev/urandom >large.bin; chmod 600 large.bin; useradd -m ann; chown ann large.bin")
        inside = client.output("fast-path", "sha256sum large.bin").split()[0]
        yield link_in(client.call("present_file", sandbox="fast-path", path="large.bin")), inside


def fetched(url):
    done = subprocess.run([*CURL, url], check=True, capture_output=True)
    return hashlib.sha256(done.stdout).hexdigest()


def agent_reads(stack, url, inside):
    """How much of a file the agent itself reads while it is downloaded."""
    before = bytes_read(stack.agent)
    assert fetched(url) == inside
    return bytes_read(stack.agent) - before


def test_by_descriptor_the_agent_reads_nothing(stack, large):
    path, inside = large
    assert agent_reads(stack, f"http://127.0.0.1:{stack.port}{path}", inside) < SIZE / 10
    assert "downloads.by_descriptor" in (stack.state / "gateway.log").read_text()


def test_without_the_socket_the_agent_streams_it(stack, large):
    path, inside = large
    with stack.without_descriptors():
        assert agent_reads(stack, f"http://127.0.0.1:{stack.port}{path}", inside) >= SIZE
    assert "downloads.streamed" in (stack.state / "gateway.log").read_text()


def test_through_tls_the_agent_streams_it():
    with TlsStack() as secure, TlsClient(secure) as client:
        client.output("fast-path", f"head -c {SIZE} /dev/urandom >large.bin")
        inside = client.output("fast-path", "sha256sum large.bin").split()[0]
        told = client.call("present_file", sandbox="fast-path", path="large.bin").text
        url = re.search(r"\((https://[^)\s]+/dl/[^)\s]+)\)", told).group(1)
        assert agent_reads(secure, url, inside) >= SIZE


def test_the_gateway_has_the_file_to_read_while_it_goes_out_and_not_after(stack, large):
    path, _ = large
    with socket.create_connection(("127.0.0.1", stack.port)) as slow:
        slow.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{stack.port}\r\n\r\n".encode())
        slow.recv(1000)
        assert set(open_files(stack.gateway, "large.bin").values()) == {os.O_RDONLY}
        # What it opened for a ticket that nobody fetched, as in a test before, lives for five seconds.
        wait_for("the agent to let the file go", lambda: not open_files(stack.agent, "large.bin"), 10)
    wait_for("the gateway to let the file go", lambda: not open_files(stack.gateway, "large.bin"))
