"""The disk for output, or for all of the agent's state, is full: what prints waits, all else gets a clear answer, and with room again
nothing is missing.

On a small file system of its own, never the machine's.
"""

import contextlib
import pathlib
import pwd
import shutil
import subprocess
import time

import pytest
from mcp_client import McpClient
from programs import bring, field, whole_output
from stack import Stack, wait_for

SMALL_MB = 48
# With the room for the log of records and a reserve of a sixteenth, there is still something to be filled.
IMAGE_MB = 128
LINES = 4_000_000  # 64 MB


class SmallDiskStack(Stack):
    def __init__(self, small, kind="tmpfs", **agent_settings):
        # A share of so little would be met first.
        super().__init__({"PRINCIPAL_DISK": "0", **agent_settings})
        self.mounted = self.state / small
        self.kind = kind

    def _lay_out(self):
        super()._lay_out()
        self.mounted.mkdir(exist_ok=True)
        owner = pwd.getpwnam("sandkeep")
        seen_by_engine = self._hold_what_the_engine_sees()
        if self.kind == "tmpfs":
            options = f"size={SMALL_MB}m,mode=0700,uid={owner.pw_uid},gid={owner.pw_gid}"
            subprocess.run(["mount", "-t", "tmpfs", "-o", options, "sandkeep-test", self.mounted], check=True)
        else:
            self._mount_image(owner)
        if seen_by_engine:
            (self.mounted / "sandboxes").mkdir()
            subprocess.run(["mount", "--bind", seen_by_engine, self.mounted / "sandboxes"], check=True)

    def _mount_image(self, owner):
        image = self.state / "image"
        with open(image, "wb") as file:
            file.truncate(IMAGE_MB << 20)
        subprocess.run(["mkfs.ext4", "-q", "-m", "0", "-E", f"root_owner={owner.pw_uid}:{owner.pw_gid}", image], check=True)
        subprocess.run(["mount", "-o", "loop", image, self.mounted], check=True)

    def _hold_what_the_engine_sees(self):
        """The engine lives in a mount namespace of its own, where the small file system isn't: what it is to mount lies beside it."""
        if self.mounted.name != "agent":
            return None
        folder, held = self.mounted / "sandboxes", self.state / "sandboxes"
        for made in (folder, held):
            made.mkdir(mode=0o711)
            shutil.chown(made, "sandkeep", "sandkeep")
        subprocess.run(["mount", "--bind", folder, held], check=True)
        return held

    def resize(self, megabytes):
        subprocess.run(["mount", "-o", f"remount,size={megabytes}m", self.mounted], check=True)

    def __exit__(self, *exc):
        super().__exit__(*exc)
        mounted = [line.split()[4] for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines()]
        for path in reversed(mounted):
            if path.startswith(f"{self.state}/"):
                subprocess.run(["umount", "-l", path], check=True)
        shutil.rmtree(self.state, ignore_errors=True)


@pytest.fixture
def small():
    with SmallDiskStack("agent/spools") as running:
        yield running


def is_clear(answer, expected):
    """Right, or it says that it is the disk."""
    return answer.output == expected or "[cause disk]" in answer.first_line or \
        (answer.is_error and ("disk" in answer.text or "full" in answer.text))


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
            assert is_clear(answer, "here\n"), answer
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


# ---- All of the agent's state ----

@contextlib.contextmanager
def filled(folder):
    """No byte is left on its file system: written by root, whom no reserve holds up."""
    path = folder / "fill"
    with open(path, "wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(bytes(1 << 20))
    with open(path, "ab", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(bytes(512))
    try:
        yield
    finally:
        path.unlink()


def test_commands_live_through_a_full_disk_under_the_agents_whole_state():
    # The list of system calls lies in the state, where the engine doesn't see it either.
    settings = {"SANDBOX_MIN_FREE": "0", "SANDBOX_SECCOMP": "default"}
    with SmallDiskStack("agent", **settings) as small, McpClient(small.url, small.key) as alice, McpClient(small.url, small.key2) as bob:
        bob.output("beside", "echo x >f.txt")
        silent = field(alice.run("full", "sleep 6; exit 6", wait_seconds=0), "job")
        prints = field(alice.run("full", "for n in $(seq 60); do echo line $n; sleep 0.1; done; exit 5", wait_seconds=0), "job")
        with filled(small.mounted):
            assert shutil.disk_usage(small.mounted).free == 0
            for client, sandbox in ((alice, "full"), (bob, "beside"), (bob, "new")):
                before = time.monotonic()
                answer = client.run(sandbox, "echo here", timeout_seconds=10)
                assert time.monotonic() - before < 15, answer
                assert is_clear(answer, "here\n"), answer
            assert alice.request("tools/list")["result"]["tools"] and small.ctl("info").returncode == 0
            # Both end while there is no room.
            time.sleep(7)
        ended = alice.call("wait_command", sandbox="full", job=silent, wait_seconds=30)
        assert ended.exit_code == 6 or "[cause disk]" in ended.first_line, ended
        ended = alice.call("wait_command", sandbox="full", job=prints, wait_seconds=30, offset=0)
        whole = "".join(f"line {n}\n" for n in range(1, 61))
        assert (ended.exit_code, ended.output) == (5, whole) or "[cause disk]" in ended.first_line, ended
        assert wait_for("the next to work", lambda: alice.run("full", "echo on").output == "on\n", 10)
        assert bob.output("beside", "cat f.txt") == "x\n"
        # And nothing of it was only in memory.
        small.kill_agent()
        small.start_agent()
        assert "[rebuilt]" not in alice.run("full", "true").first_line
        assert alice.call("wait_command", sandbox="full", job=silent).first_line == \
            alice.call("wait_command", sandbox="full", job=silent).first_line


def test_on_its_reserve_the_agent_goes_on_writing_when_others_have_filled_the_disk():
    settings = {"SANDBOX_MIN_FREE": "0", "SANDBOX_SECCOMP": "default"}
    with SmallDiskStack("agent", "ext4", **settings) as small, McpClient(small.url, small.key) as alice, McpClient(small.url, small.key2) as bob:
        reserve = small.mounted / "reserve"
        held = reserve.stat().st_size
        assert held == reserve.stat().st_blocks * 512 > IMAGE_MB / 20 * (1 << 20), "it takes its room from the start"
        bob.output("beside", "echo x >f.txt")
        silent = field(alice.run("full", "sleep 3; exit 6", wait_seconds=0), "job")
        prints = field(alice.run("full", "for n in $(seq 300); do echo line $n; sleep 0.02; done; exit 5", wait_seconds=0), "job")
        with filled(small.mounted):
            wait_for("room for the agent", lambda: shutil.disk_usage(small.mounted).free > 0, 10)
            for client, sandbox in ((alice, "full"), (bob, "beside"), (bob, "new")):
                assert client.output(sandbox, "echo here") == "here\n"
            much = field(bob.run("beside", "head -c 400000 /dev/zero | tr '\\0' x", wait_seconds=30), "job")
            assert len(whole_output(bob, "beside", much)) == 400_000
            assert alice.call("wait_command", sandbox="full", job=silent, wait_seconds=30).exit_code == 6
            assert alice.call("wait_command", sandbox="full", job=prints, wait_seconds=30).exit_code == 5
            assert reserve.stat().st_size < held
            # What was said is on the disk, and another agent can start there.
            small.kill_agent()
            small.start_agent()
            assert alice.call("wait_command", sandbox="full", job=silent).exit_code == 6
            assert whole_output(alice, "full", prints) == "".join(f"line {n}\n" for n in range(1, 301))
            assert bob.output("new", "echo there") == "there\n"
        wait_for("the reserve to be held again", lambda: reserve.stat().st_size == held, 10)
        assert bob.output("beside", "cat f.txt") == "x\n"
