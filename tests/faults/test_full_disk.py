"""The disk for output is full: what prints waits, all else gets a clear answer, and with room again nothing is missing.

On a small file system of its own, never the machine's.
"""

import os
import pwd
import shutil
import subprocess
import time

import pytest
from mcp_client import McpClient
from programs import bring, field
from stack import Stack, wait_for

SMALL_MB = 48
LINES = 4_000_000  # 64 MB


class SmallDiskStack(Stack):
    def _lay_out(self):
        super()._lay_out()
        self.mounted = self.state / "agent" / "spools"
        self.mounted.mkdir()
        owner = pwd.getpwnam("sandkeep")
        options = f"size={SMALL_MB}m,mode=0700,uid={owner.pw_uid},gid={owner.pw_gid}"
        subprocess.run(["mount", "-t", "tmpfs", "-o", options, "sandkeep-test", self.mounted], check=True)

    def resize(self, megabytes):
        subprocess.run(["mount", "-o", f"remount,size={megabytes}m", self.mounted], check=True)

    def __exit__(self, *exc):
        super().__exit__(*exc)
        if os.path.ismount(self.mounted):
            subprocess.run(["umount", "-l", self.mounted], check=True)
        shutil.rmtree(self.state, ignore_errors=True)


@pytest.fixture
def small():
    with SmallDiskStack() as running:
        yield running


def test_what_prints_onto_a_full_disk_waits_and_comes_whole_when_there_is_room(small):
    with McpClient(small.url, small.key) as alice, McpClient(small.url, small.key2) as bob:
        bring(alice, "flood", "stdout_flood")
        bob.output("beside", "echo x >f.txt")
        job = field(alice.run("flood", f"stdout_flood {LINES}; exit 3", wait_seconds=0), "job")
        wait_for("the disk to be full", lambda: shutil.disk_usage(small.mounted).free < 65536, 60)
        # It neither ends nor loses; others are answered, one way or the other, and the agent lives.
        assert "[running]" in alice.call("wait_command", sandbox="flood", job=job, wait_seconds=1).first_line
        for client, sandbox in ((alice, "flood"), (bob, "beside"), (bob, "new")):
            before = time.monotonic()
            answer = client.run(sandbox, "echo here", timeout_seconds=20)
            assert time.monotonic() - before < 10, answer
            clear = answer.output == "here\n" or "[cause disk]" in answer.first_line or \
                (answer.is_error and ("disk" in answer.text or "full" in answer.text))
            assert clear, answer
        assert small.ctl("info").returncode == 0
        small.resize(256)
        ended = alice.call("wait_command", sandbox="flood", job=job, wait_seconds=120)
        assert ended.exit_code == 3, ended.first_line
        assert ended.output.endswith(f"{LINES - 1:015d}\n")
        tail = alice.call("read_output", sandbox="flood", job=job, offset=(LINES - 2) * 16)
        assert tail.output == f"{LINES - 2:015d}\n{LINES - 1:015d}\n", tail
        assert bob.output("beside", "cat f.txt") == "x\n"


def test_a_command_whose_output_finds_no_room_can_be_stopped_and_says_why(small):
    with McpClient(small.url, small.key) as alice:
        bring(alice, "flood", "stdout_flood")
        job = field(alice.run("flood", f"stdout_flood {LINES}", wait_seconds=0), "job")
        wait_for("the disk to be full", lambda: shutil.disk_usage(small.mounted).free < 65536, 60)
        before = time.monotonic()
        stopped = alice.call("stop_command", sandbox="flood", job=job)
        assert time.monotonic() - before < 8
        assert "[cause disk]" in stopped.first_line or "[cause cancelled]" in stopped.first_line, stopped
        assert "disk is full" in stopped.text, stopped
        small.resize(256)
        assert wait_for("the next to work", lambda: alice.run("flood", "echo on").output == "on\n", 10)
