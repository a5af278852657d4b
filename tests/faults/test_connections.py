"""One address that takes every connection there is, and a person at another."""

import contextlib
import json
import re
import resource
import socket
import subprocess
import tempfile

CROWD = 10_000


@contextlib.contextmanager
def crowd(port):
    """So many connections from an address of their own, each with half a request."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, CROWD + 1000)), hard))
    connections = []
    try:
        for _ in range(CROWD):
            connection = socket.socket()
            connections.append(connection)
            connection.bind(("127.0.0.2", 0))
            connection.connect(("127.0.0.1", port))
            connection.send(b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n")
        yield connections
    finally:
        for connection in connections:
            connection.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def requests_a_second(stack):
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
    script = (f'wrk.method = "POST"\nwrk.body = [[{body}]]\nwrk.headers["Authorization"] = "Bearer {stack.key}"\n'
              'wrk.headers["Content-Type"] = "application/json"\n')
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as file:
        file.write(script)
        file.flush()
        done = subprocess.run(["wrk", "-t1", "-c8", "-d1s", "-s", file.name, f"http://127.0.0.1:{stack.port}/mcp"],
                              capture_output=True, text=True, timeout=60, check=True)
    assert "Non-2xx" not in done.stdout and "Socket errors" not in done.stdout, done.stdout
    return float(re.search(r"Requests/sec:\s+([\d.]+)", done.stdout)[1])


def test_10000_connections_from_one_address_leave_another_its_throughput(stack):
    rounds = []
    # Whatever else works on this machine may begin between the two; what the crowd costs shows in each.
    for _ in range(3):
        alone = max(requests_a_second(stack) for _ in range(3))
        with crowd(stack.port) as connections:
            beside = max(requests_a_second(stack) for _ in range(3))
            assert len(connections) == CROWD
        rounds.append(f"{beside:.0f}/s beside the crowd, {alone:.0f}/s alone")
        if beside >= 0.9 * alone:
            return
    raise AssertionError(rounds)
