"""SIGKILL of either process at random moments, while commands run, files are written and handed in, keys are made and people sign
in: whatever was acknowledged stands.

SANDKEEP_DEATHS says how many (20 in CI, 100 by run.sh --all), SANDKEEP_DEATHS_SEED which.
"""

import contextlib
import hashlib
import http.client
import json
import os
import random
import secrets
import subprocess
import threading
import time

from mcp_client import McpClient
from programs import field, whole_output
from sign_in import SignInClient
from stack import Stack, wait_for
from test_uploads import open_upload, put

DEATHS = int(os.environ.get("SANDKEEP_DEATHS", "20"))
SEED = int(os.environ.get("SANDKEEP_DEATHS_SEED", "1"))
# So many commands that a sandbox still remembers the first when the last death is over.
PACE_SECONDS = 0.5
# Of every kind: fewer, and nothing was under load.
LEAST_ACKNOWLEDGED = 5
# What a caller sees of a death. Anything else fails the test.
CUT_OFF = (OSError, http.client.HTTPException, subprocess.CalledProcessError)


class Worker:
    """Does one kind of thing again and again, and knows what of it was acknowledged."""

    def __init__(self, stack, over):
        self.stack, self.over = stack, over
        self.acknowledged = 0
        self.failure = None
        self.label = f"under-load-{secrets.token_hex(3)}"
        self.client = McpClient(stack.url, stack.key, timeout=60)
        self.begin()
        self.thread = threading.Thread(target=self._work)
        self.thread.start()

    def _work(self):
        try:
            while not self.over.wait(PACE_SECONDS * random.random()):
                with contextlib.suppress(*CUT_OFF):
                    self.acknowledged += self.turn(self.acknowledged)
        except Exception as error:  # Told by check, in the test's own thread.
            self.failure = error

    def join(self):
        self.thread.join(120)
        assert not self.thread.is_alive(), type(self).__name__
        if self.failure is not None:
            raise self.failure
        assert self.acknowledged >= LEAST_ACKNOWLEDGED, type(self).__name__


class Commands(Worker):
    """A command whose id was handed out is told of later: all that it printed, and how it ended."""

    def begin(self):
        self.client.output(self.label, "true")
        self.jobs = {}

    def turn(self, number):
        word = secrets.token_hex(4)
        result = self.client.run(self.label, f"echo {word}; sleep 0.5; echo {word}; exit {number % 100 + 1}", wait_seconds=0)
        job = None if result.is_error else field(result, "job")
        if job is None:
            return 0
        self.jobs[job] = (f"{word}\n{word}\n", number % 100 + 1)
        return 1

    def check(self):
        for job, expected in self.jobs.items():
            ended = self.client.call("wait_command", sandbox=self.label, job=job, wait_seconds=30)
            assert (whole_output(self.client, self.label, job), ended.exit_code) == expected, (job, ended)


class Files(Worker):
    """A file whose writing was acknowledged has that content, or what a later try may have left."""

    NAMES = 10

    def begin(self):
        self.client.output(self.label, "true")
        self.expected = {f"file-{number}": {""} for number in range(self.NAMES)}
        self.client.output(self.label, f"touch {' '.join(self.expected)}")

    def turn(self, number):
        path, content = f"file-{number % self.NAMES}", secrets.token_hex(8)
        self.expected[path].add(content)
        if self.client.call("write_file", sandbox=self.label, path=path, content=content).is_error:
            return 0
        self.expected[path] = {content}
        return 1

    def check(self):
        for path, contents in self.expected.items():
            assert self.client.output(self.label, f"cat {path}") in contents, path


class Pieces(Worker):
    """What was acknowledged of a file that is handed in needn't be handed in again."""

    PIECE = 1000
    SIZE = 10_000_000

    def begin(self):
        self.data = secrets.token_bytes(self.SIZE)
        _, self.url = open_upload(self.client, self.label)
        self.received = 0

    def turn(self, _):
        # A cut-off piece may have arrived: the server says where it stands.
        asked = self._ask()
        if asked is None:
            return 0
        assert asked >= self.received, (asked, self.received)
        end = min(asked + self.PIECE, self.SIZE)
        answer = self._put(asked, end)
        if answer.status != 200:
            return 0
        self.received = json.loads(answer.body)["received"]
        return 1

    def _ask(self):
        path = self.url[self.url.index("/up/"):] + "data"
        answer = self.client.send("HEAD", path, headers={"Upload-Length": str(self.SIZE)})
        return int(answer.headers.get("upload-offset", 0)) if answer.status in (200, 204, 404) else None

    def _put(self, begin, end):
        return put(self.client, self.url, "data", self.data[begin:end], Content_Range=f"bytes {begin}-{end - 1}/{self.SIZE}")

    def check(self):
        answer = self._put(self._ask(), self.SIZE)
        assert answer.status == 201, (answer.status, answer.body)
        digest = self.client.output(self.label, "sha256sum <data").split()[0]
        assert digest == hashlib.sha256(self.data).hexdigest()


class Keys(Worker):
    """A key that was printed opens the door."""

    def begin(self):
        self.keys = []

    def turn(self, number):
        self.keys.append(self.stack.add_key(f"person-{number}-{secrets.token_hex(2)}"))
        return 1

    def check(self):
        for key in self.keys:
            wait_for("the key", lambda: status_of(self.client, key) == 405, 5)


class SignIns(Worker):
    """Who has signed in stays so, however often a death cuts the renewal off."""

    def begin(self):
        self.person = SignInClient(self.stack.url)
        self.tokens = self.person.sign_in(self.stack.key)

    def turn(self, _):
        reply = self.person.refresh(self.tokens["refresh_token"])
        assert reply.status in (200, 503), (reply.status, reply.text)
        if reply.status != 200:
            return 0
        self.tokens = reply.json
        return 1

    def check(self):
        assert status_of(self.client, self.tokens["access_token"]) == 405
        assert self.person.refresh(self.tokens["refresh_token"]).status == 200


def status_of(client, token):
    return client.send("GET", client.path, headers={"Authorization": f"Bearer {token}"}).status


def kill_one(stack, chance):
    """Whichever it is, it is back when this returns."""
    name = chance.choice(["agent", "gateway"])
    getattr(stack, f"kill_{name}")()
    getattr(stack, f"start_{name}")()


def test_what_was_acknowledged_outlives_every_death_of_either_process():
    chance = random.Random(SEED)
    over = threading.Event()
    with Stack({"SANDBOX_MAX": "16"}) as stack:
        workers = []
        try:
            for kind in (Commands, Commands, Files, Pieces, Keys, SignIns):
                workers.append(kind(stack, over))
            for _ in range(DEATHS):
                time.sleep(chance.uniform(0, 1))  # Any moment.
                kill_one(stack, chance)
        finally:
            over.set()
            for worker in workers:
                worker.thread.join(120)
        for worker in workers:
            worker.join()
        for worker in workers:
            worker.check()
