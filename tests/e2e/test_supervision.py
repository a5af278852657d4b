"""What both processes tell a service manager: that they serve, that they still do, that they end."""

import contextlib
import os
import socket
import tempfile

import pytest
from stack import Stack

INTERVAL_USEC = 1_000_000
SILENCE_SECONDS = 20


@pytest.fixture(scope="module")
def own():
    with Stack() as stack:
        yield stack


class Manager:
    def __init__(self, listener, path):
        self.listener = listener
        self.settings = {"NOTIFY_SOCKET": path, "WATCHDOG_USEC": str(INTERVAL_USEC)}

    def wait_for(self, state):
        self.listener.settimeout(SILENCE_SECONDS)
        while self.listener.recv(4096).decode() != state:
            pass


@pytest.fixture
def manager():
    with tempfile.TemporaryDirectory() as folder, contextlib.closing(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)) as listener:
        path = os.path.join(folder, "notify")
        listener.bind(path)
        os.chmod(folder, 0o755)
        os.chmod(path, 0o777)
        yield Manager(listener, path)


@pytest.mark.parametrize("process", ["gateway", "agent"])
def test_it_says_that_it_serves_that_it_still_does_and_that_it_ends(own, manager, process):
    stop, start = getattr(own, f"stop_{process}"), getattr(own, f"start_{process}")
    stop()
    start(wait=False, **manager.settings)
    manager.wait_for("READY=1")
    for _ in range(3):
        manager.wait_for("WATCHDOG=1")
    stop()
    manager.wait_for("STOPPING=1")
    start()
