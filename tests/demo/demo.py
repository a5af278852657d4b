"""deploy/demo.sh as somebody starts it: its options, its environment, what it says, and its end."""

import os
import pathlib
import shlex
import signal
import subprocess
import tempfile

from stack import ROOT, podman, wait_for

SCRIPT = ROOT / "deploy" / "demo.sh"
STATE = pathlib.Path("/var/lib/sandkeep-demo")
FIRST_START_SECONDS = 900  # It may have to build.


class Demo:
    def __init__(self, *options, **settings):
        self.options = list(options)
        self.environment = {**os.environ, "SANDBOX_PORT": "0", **settings}
        self.folder = tempfile.TemporaryDirectory(prefix="sandkeep-demo-")
        self.ready = pathlib.Path(self.folder.name) / "ready"

    def __enter__(self):
        self.output = open(pathlib.Path(self.folder.name) / "output", "w+b")
        # A shell in the background ignores SIGINT, and so would all that comes of it.
        self.process = subprocess.Popen([SCRIPT, *self.options], env=self.environment, stdin=subprocess.DEVNULL,
                                        stdout=self.output, stderr=self.output,
                                        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(timeout=60)
        self.output.close()
        self.folder.cleanup()

    def with_ready_file(self):
        self.options += ["--ready-file", str(self.ready)]
        return self

    def said(self):
        # Not by our own descriptor: whoever writes shares its position.
        return (pathlib.Path(self.folder.name) / "output").read_text()

    def wait(self, seconds=FIRST_START_SECONDS):
        return self.process.wait(timeout=seconds)

    def wait_until_ready(self):
        def answers():
            assert self.process.poll() is None, self.said()
            return self.ready.is_file()
        wait_for("the ready file", answers, FIRST_START_SECONDS)
        return self.assignments()

    def assignments(self):
        return dict(line.split("=", 1) for line in shlex.split(self.ready.read_text()))


def containers():
    """Of the demo's agent, by id; other agents' are none of its business."""
    instance = (STATE / "agent" / "instance").read_text().strip()
    return podman("ps", "-aq", "--no-trunc", "--filter", f"label=sandkeep.instance={instance}").split()


def started_by(demo):
    """(pid, start time) of everything that runs for it: what descends from it, its programs and what keeps its containers."""
    parents, found = {}, set()
    marks = [str(STATE / "bin").encode(), *(name.encode() for name in containers())]
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            command = (entry / "cmdline").read_bytes()
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        process = int(entry.name), fields[19]
        parents[process] = int(fields[1])
        if any(mark in command for mark in marks):
            found.add(process)
    family = {demo.process.pid}
    while more := {process for process, parent in parents.items() if parent in family and process[0] not in family}:
        family |= {pid for pid, _ in more}
        found |= more
    return found


def still_there(processes):
    left = []
    for pid, start in processes:
        try:
            text = pathlib.Path(f"/proc/{pid}/stat").read_text()
        except OSError:
            continue
        if text.rpartition(")")[2].split()[19] == start:
            left.append(text)
    return left
