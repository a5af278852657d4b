"""README's first command: what it shows, what it writes for others to read, and that it takes everything down with it."""

import contextlib
import errno
import json
import os
import pathlib
import pwd
import re
import secrets
import signal
import socket
import stat
import subprocess
import time

import pytest
from demo import STATE, Demo, containers, started_by, still_there
from mcp_client import McpClient
from stack import ROOT, wait_for

SECOND_START_SECONDS = 30
SIGN_KEY = secrets.token_hex(32)
LINK_SECONDS = 1234
SETTINGS = {"SANDBOX_PIDS": "123", "SANDBOX_LINK_TTL": str(LINK_SECONDS), "MCP_SIGN_KEY": SIGN_KEY}
INTEROP = ROOT / "tests" / "interop"

# Looks at every command line of the machine until its input ends; prints those that had what the first line asks for.
LOOKER = """
import os, select, sys
sought = os.read(0, 1000).strip()
print("looking", flush=True)
seen, looks = set(), 0
while not select.select([0], [], [], 0.005)[0]:
    looks += 1
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                line = file.read()
        except OSError:
            continue
        if sought in line:
            seen.add(line)
print(looks, seen, flush=True)
"""


def test_once_shows_a_command_and_a_file_and_leaves_nothing_running():
    with Demo("--once") as demo:
        assert demo.wait() == 0, demo.said()
        assert "[new] [exit 0]" in demo.said() and "2 3 5 7 11 " in demo.said()
        assert containers() == [] and still_there(started_by(demo)) == []


@pytest.fixture(scope="module")
def stranger():
    """A process of nobody's that watches all command lines while the demo starts and runs."""
    looker = subprocess.Popen(["setpriv", "--reuid", "nobody", "--regid", "nogroup", "--clear-groups", "python3", "-c", LOOKER],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    looker.stdin.write(SIGN_KEY)
    looker.stdin.flush()
    assert looker.stdout.readline() == "looking\n"
    yield looker
    looker.kill()
    looker.wait()


@pytest.fixture(scope="module")
def running(stranger):
    demo = Demo(**SETTINGS).with_ready_file()
    demo.ready.write_text("SANDKEEP_URL=yesterday\n")
    started = time.monotonic()
    with demo:
        wait_for("yesterday's ready file to go", lambda: demo.process.poll() is not None or not demo.ready.exists(), 30)
        assert "yesterday" not in demo.wait_until_ready()["SANDKEEP_URL"]
        demo.seconds = time.monotonic() - started
        yield demo


@pytest.fixture
def client(running):
    ready = running.assignments()
    with McpClient(ready["SANDKEEP_URL"], ready["SANDKEEP_KEY"]) as connected:
        yield connected


def test_a_second_start_takes_seconds(running):
    assert running.seconds < SECOND_START_SECONDS


def test_what_a_person_needs_to_connect_is_on_the_screen(running):
    ready = running.assignments()
    url, key = ready["SANDKEEP_URL"], ready["SANDKEEP_KEY"]
    wait_for("the words", lambda: "Press Ctrl-C to stop." in running.said(), 60)
    said = running.said()
    assert re.search(rf"^ +URL +{re.escape(url)}$", said, re.MULTILINE)
    assert re.search(rf"^ +access key +{re.escape(key)}$", said, re.MULTILINE)
    for_json = json.loads(said[said.index('{"mcpServers"'):said.index("For Claude Code:")])
    server = for_json["mcpServers"]["sandkeep"]
    assert (server["url"], server["headers"]) == (url, {"Authorization": f"Bearer {key}"})
    assert f"claude mcp add --transport http sandkeep {url}" in said


def test_each_process_runs_as_its_own_user(running, client):
    client.output("users", "true")
    owners = {}
    for pid, _ in started_by(running):
        with contextlib.suppress(OSError):
            program = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[0].decode()
            if program.startswith(str(STATE / "bin")):
                owners[pathlib.Path(program).name] = pathlib.Path(f"/proc/{pid}").stat().st_uid
    assert owners["sandkeep-gateway"] == pwd.getpwnam("sandkeep-gw").pw_uid, owners
    assert owners["sandkeep-agent"] == pwd.getpwnam("sandkeep").pw_uid, owners


def test_the_ready_file_is_its_owners_alone_and_has_keys_of_two_principals(running, client):
    mode = running.ready.lstat()
    assert stat.S_IMODE(mode.st_mode) == 0o600 and mode.st_uid == 0
    ready = running.assignments()
    assert sorted(ready) == ["SANDKEEP_KEY", "SANDKEEP_KEY2", "SANDKEEP_URL"]
    client.output("mine", "echo x >/workspace/f")
    with McpClient(ready["SANDKEEP_URL"], ready["SANDKEEP_KEY2"]) as other:
        assert other.run("mine", "ls /workspace").output == ""


def test_settings_of_the_environment_reach_both_processes(client):
    client.output("settings", "echo x >f.txt")
    assert " 123 processes;" in client.call("sandbox_info").text
    presented = client.call("present_file", sandbox="settings", path="f.txt").text
    expiry = int(re.search(r"/dl/(\d+)/", presented)[1])
    assert time.time() < expiry <= time.time() + LINK_SECONDS + 60 < time.time() + 3600, presented


def test_a_secret_of_the_environment_is_handed_over_unseen(stranger, running):
    pid = next(int(pid) for pid, _ in started_by(running)
               if str(STATE / "bin" / "sandkeep-gateway").encode() in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes())
    environment = pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    assert f"MCP_SIGN_KEY={SIGN_KEY}".encode() in environment
    assert not any(entry.startswith(b"SANDBOX_PIDS=") for entry in environment), "the agent's"
    looks, seen = stranger.communicate("done", timeout=30)[0].split(" ", 1)
    assert int(looks) > 10 and seen == "set()\n"


def test_what_runs_as_another_user_gets_no_secret_by_its_arguments_and_nothing_unasked():
    """Even for the moment before the command itself has taken over."""
    script = ('. "$1"; exec() { printf "%s\\n" "$@"; }; shift; sk_exec_as "$@"')
    arguments = ["sandkeep-gw", "/var/lib/sandkeep-gateway", f"MCP_SIGN_KEY={SIGN_KEY}\nb", "A=1 2", "env", "-0"]
    shown = subprocess.run(["bash", "-c", script, "_", ROOT / "deploy" / "host.sh", *arguments], capture_output=True, text=True,
                           check=True).stdout
    assert "setpriv" in shown and SIGN_KEY not in shown
    script = '. "$1"; f() { :; }; export -f f; export -r MINE=1; shift; sk_as "$@"'
    got = subprocess.run(["bash", "-c", script, "_", ROOT / "deploy" / "host.sh", *arguments], capture_output=True, text=True,
                         check=True).stdout
    assert set(got.rstrip("\0").split("\0")) == {
        "HOME=/var/lib/sandkeep-gateway", "LC_ALL=C.UTF-8", f"MCP_SIGN_KEY={SIGN_KEY}\nb", "A=1 2",
        "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}


@pytest.mark.parametrize("flavour", ["sdk", "client-modern"])
def test_an_official_client_works_with_what_the_ready_file_says(running, flavour):
    ready = running.assignments()
    done = subprocess.run(["node", "call.mjs", flavour, ready["SANDKEEP_URL"], ready["SANDKEEP_KEY"], f"demo-{flavour}"],
                          cwd=INTEROP, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "hello from Linux" in json.loads(done.stdout)["text"]


def test_a_second_demo_refuses_and_leaves_the_first_ones_ready_file(running, client):
    before = running.ready.read_text()
    with Demo("--ready-file", str(running.ready)) as second:
        assert second.wait(60) == 1
        assert "running already" in second.said()
    assert running.ready.read_text() == before
    assert client.output("mine", "echo on") == "on\n"


@pytest.mark.parametrize("kind", ["link", "dangling link", "folder", "fifo", "no folder around it"])
def test_a_ready_file_is_never_written_through_what_is_no_plain_file(tmp_path, kind):
    victim, path = tmp_path / "victim", tmp_path / "ready"
    victim.write_text("precious")
    if kind == "link":
        path.symlink_to(victim)
    elif kind == "dangling link":
        path.symlink_to(tmp_path / "nothing")
    elif kind == "folder":
        path.mkdir()
    elif kind == "fifo":
        os.mkfifo(path)
    else:
        path = tmp_path / "missing" / "ready"
    before = sorted((entry.name, entry.lstat().st_mode) for entry in tmp_path.iterdir())
    with Demo("--ready-file", str(path)) as demo:
        assert demo.wait(60) == 1
        words = {"link": "symbolic link", "dangling link": "symbolic link", "no folder around it": "no such directory"}
        assert words.get(kind, "not a regular file") in demo.said()
    assert sorted((entry.name, entry.lstat().st_mode) for entry in tmp_path.iterdir()) == before
    assert victim.read_text() == "precious"


def refuses_connections(client):
    with socket.socket() as probe:
        return probe.connect_ex((client.host, client.port)) == errno.ECONNREFUSED


def test_sigterm_ends_everything_that_it_started(running, client):
    """The last but one: the others' demo is what it ends."""
    client.output("last", "sleep 1000 & echo up")
    mine = started_by(running)
    assert containers() and len(mine) > 4 and not refuses_connections(client)
    running.process.send_signal(signal.SIGTERM)
    assert running.wait(60) == 143, running.said()
    assert containers() == []
    wait_for("its processes to go", lambda: not still_there(mine), 10)
    assert refuses_connections(client)


def test_so_does_a_ctrl_c():
    with Demo().with_ready_file() as demo:
        ready = demo.wait_until_ready()
        with McpClient(ready["SANDKEEP_URL"], ready["SANDKEEP_KEY"]) as client:
            client.output("last", "sleep 1000 & echo up")
            mine = started_by(demo)
            assert containers() and len(mine) > 4
            demo.process.send_signal(signal.SIGINT)
            assert demo.wait(60) == 130, demo.said()
            assert containers() == []
            wait_for("its processes to go", lambda: not still_there(mine), 10)
            assert refuses_connections(client)
