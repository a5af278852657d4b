"""Killed at any moment of create, start, freeze, stop and remove, the agent finds the engine again as its records have it.

Each point is a moment at random, with several sandboxes on their way at once; at every other one the engine's own processes die
with it. SANDKEEP_KILL_POINTS says how many (200 were tried), SANDKEEP_KILL_SEED which.
"""

import contextlib
import os
import pathlib
import random
import signal
import sqlite3
import subprocess
import threading
import time

from mcp_client import McpClient
from stack import Stack, wait_for

POINTS = int(os.environ.get("SANDKEEP_KILL_POINTS", "12"))
SEED = int(os.environ.get("SANDKEEP_KILL_SEED", "1"))
# Freezing and stopping come by themselves, and soon.
SETTINGS = {"SANDBOX_IDLE": "1", "SANDBOX_STOP_AFTER": "1", "SANDBOX_MAX": "4", "SANDBOX_WARM": "1"}
LABELS = [f"kill-{number}" for number in range(4)]


def children_of(pid):
    """Of each of its threads."""
    children = []
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(OSError):
            children += map(int, (task / "children").read_text().split())
    return children


def name_of(pid):
    with contextlib.suppress(OSError):
        with open(f"/proc/{pid}/comm") as file:
            return file.read().strip()
    return ""


def kill_all(stack, with_engine):
    """The agent, and what it was just having done, if that is to die too. A podman may have begun already to detach a container."""
    engine = [pid for pid in children_of(stack.agent.pid) if name_of(pid) == "podman"] if with_engine else []
    stack.kill_agent()
    for pid in engine:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return len(engine)


def records(stack):
    """The containers and volumes that the agent's database has, the pool's too."""
    database = sqlite3.connect(f"file:{stack.state / 'agent' / 'agent.db'}?mode=ro", uri=True, timeout=10)
    with contextlib.closing(database):
        rows = database.execute("SELECT container, volume FROM sandboxes UNION ALL SELECT container, volume FROM warm").fetchall()
    return {container for container, _ in rows if container}, {volume for _, volume in rows}


def difference(stack):
    """Between the records and the engine, in words; empty: none."""
    found = (set(stack.containers()), set(stack.volumes()))
    return "; ".join(f"{what}: recorded only {sorted(a - b)}, there only {sorted(b - a)}"
                     for what, a, b in zip(("containers", "volumes"), records(stack), found) if a != b)


def start(stack):
    """The next agent. One that doesn't come up waits for the engine: what that waits for belongs to the message."""
    try:
        stack.start_agent()
    except TimeoutError as error:
        engine = subprocess.run(["ps", "-u", "sandkeep", "-o", "pid,ppid,stat,wchan:24,etimes,args"], capture_output=True, text=True).stdout
        raise TimeoutError(f"{error}\n{engine}") from None


def answers(stack):
    return stack.ctl("ls", check=False).returncode == 0


class Doing:
    """One call that the kill may cut off."""

    def __init__(self, stack, chance, kept):
        self.label = chance.choice(LABELS)
        self.kind = chance.choice(["run", "run", "run", "freeze", "thaw", "remove", "remove-files"])
        self.stack, self.kept = stack, kept
        self.thread = threading.Thread(target=self._do)
        self.thread.start()

    def _do(self):
        with contextlib.suppress(Exception):
            getattr(self, "_" + self.kind.replace("-", "_"))()

    def _run(self):
        with McpClient(self.stack.url, self.stack.key, timeout=30) as client:
            if client.run(self.label, "echo kept >>kept").exit_code == 0:
                self.kept.add(self.label)

    def _remove_files(self):
        # From here on its files may be gone, whatever is answered.
        self.kept.discard(self.label)
        self._remove(files=True)
        self.kept.discard(self.label)

    def _remove(self, files=False):
        with McpClient(self.stack.url, self.stack.key, timeout=30) as client:
            client.call("remove_sandbox", sandbox=self.label, files=files)

    def _freeze(self):
        self._operate("freeze")

    def _thaw(self):
        self._operate("thaw")

    def _operate(self, what):
        self.stack.ctl(what, self.stack.principal, self.label, check=False)


def principal_of(stack):
    import json
    with McpClient(stack.url, stack.key) as client:
        client.run(LABELS[0], "true")
    return json.loads(stack.ctl("--json", "ls").stdout)["sandboxes"][0]["principal"]


def test_after_any_kill_the_engines_objects_are_the_records():
    chance = random.Random(SEED)
    with Stack(SETTINGS) as stack:
        stack.principal = principal_of(stack)
        kept = set()
        engine_deaths = 0
        for point in range(POINTS):
            print(f"point {point}", flush=True)
            # Two of one label at once may leave its files or not.
            chosen, calls = set(), []
            for _ in range(chance.randint(1, 3)):
                call = Doing(stack, chance, kept)
                if call.label in chosen:
                    kept.discard(call.label)
                chosen.add(call.label)
                calls.append(call)
            time.sleep(chance.choice([chance.uniform(0, 0.4), chance.uniform(0, 3.5)]))
            engine_deaths += kill_all(stack, with_engine=point % 2 == 1)
            for call in calls:
                call.thread.join(60)
                assert not call.thread.is_alive(), (point, call.kind)
            for call in calls:
                if call.kind == "remove-files" or [c.label for c in calls].count(call.label) > 1:
                    kept.discard(call.label)
            start(stack)
            # A call of the engine may take a minute before it is given up.
            wait_for("the agent to know its sandboxes", lambda: answers(stack), 180)
            # What it does by the clock, the pool too, may be under way just now.
            with contextlib.suppress(TimeoutError):
                wait_for("the engine to be as the records say", lambda: difference(stack) == "", 20)
            assert difference(stack) == "", f"point {point} of seed {SEED}: {difference(stack)}\n{stack.log('agent')}"
        # So many that none of them by chance would be a wonder.
        assert engine_deaths > 0 or POINTS < 100
        with McpClient(stack.url, stack.key) as client:
            for label in sorted(kept):
                assert client.run(label, "head -1 kept").output == "kept\n", label
