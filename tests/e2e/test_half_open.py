"""Peers of which only half is left."""

import json
import socket
import time

import pytest
from mcp_client import MODERN, McpClient

TCP_REPAIR = 19


def request_of(client, label, command, era):
    params = {"name": "run_command", "arguments": {"sandbox": label, "command": command, "wait_seconds": 120}}
    headers = {"Host": f"{client.host}:{client.port}", "Authorization": f"Bearer {client.key}", "Content-Type": "application/json",
               "Accept": "application/json", "MCP-Protocol-Version": era}
    if era == MODERN:
        params["_meta"] = {"io.modelcontextprotocol/protocolVersion": MODERN, "io.modelcontextprotocol/clientCapabilities": {}}
        headers |= {"Mcp-Method": "tools/call", "Mcp-Name": "run_command"}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()
    head = "".join(f"{name}: {value}\r\n" for name, value in (headers | {"Content-Length": len(body)}).items())
    return f"POST {client.path} HTTP/1.1\r\n{head}\r\n".encode() + body


def runs(client, label):
    return client.output(label, "pgrep -cx 'sleep' || true").strip() != "0"


def test_a_client_that_vanished_without_a_word_ends_its_command(stack, label):
    with McpClient(stack.url, stack.key, era=MODERN) as client:
        client.output(label, "true")
        peer = socket.create_connection((client.host, client.port), timeout=30)
        peer.sendall(request_of(client, label, "sleep 1000", MODERN))
        end = time.monotonic() + 20
        while not runs(client, label):
            assert time.monotonic() < end
        try:
            peer.setsockopt(socket.IPPROTO_TCP, TCP_REPAIR, 1)  # Closed like this it says nothing to the other end.
        except OSError as error:
            pytest.skip(f"no socket can be made to vanish here: {error}")
        peer.close()
        end = time.monotonic() + 45
        while runs(client, label):
            assert time.monotonic() < end, "the command runs on for nobody"
            time.sleep(0.5)


# Whether it still listens nobody can know; in the older era a stream that ends is no cancel.
def test_a_client_that_stops_sending_has_left_and_its_command_runs_on_in_the_older_era(stack, label):
    with McpClient(stack.url, stack.key) as client:
        client.output(label, "true")
        peer = socket.create_connection((client.host, client.port), timeout=60)
        peer.sendall(request_of(client, label, "sleep 1; echo whole >kept", "2025-11-25"))
        peer.shutdown(socket.SHUT_WR)
        assert peer.recv(65536) == b""
        peer.close()
        end = time.monotonic() + 20
        while client.output(label, "cat kept || true") != "whole\n":
            assert time.monotonic() < end
            time.sleep(0.2)
