"""Two hundred commands at once, each watched: every byte of each, and no processor spent on those that sleep."""

import concurrent.futures
import hashlib
import os
import pathlib
import secrets
import threading
import time

from mcp_client import McpClient
from programs import field

JOBS = 200
SANDBOXES = 4
LINES = 700
MOST_CPU = 0.05


def part(number, which):
    return "".join(f"{number}-{which}-{n}\n" for n in range(1, LINES + 1))


def command_of(number, pause):
    lines = "for n in $(seq 1 %d); do echo %d-%s-$n; done"
    return f"{lines % (LINES, number, 'a')}; sleep {pause}; {lines % (LINES, number, 'b')}; exit {number % 100}"


def cpu_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_200_commands_in_4_sandboxes_are_watched_to_the_byte_and_sleep_for_nothing(stack):
    labels = [f"many-{secrets.token_hex(3)}-{n}" for n in range(SANDBOXES)]
    asleep = threading.Semaphore(0)
    pause = 25

    def watch(number):
        sandbox = labels[number % SANDBOXES]
        with McpClient(stack.url, stack.key) as mine:
            first = mine.run(sandbox, command_of(number, pause), wait_seconds=0)
            job, text, result = field(first, "job"), first.output, first
            assert job, first
            while len(text) < len(part(number, "a")) and "[running]" in result.first_line:
                result = mine.call("wait_command", sandbox=sandbox, job=job, wait_seconds=1)
                text += result.output
            asleep.release()
            while "[running]" in result.first_line:
                result = mine.call("wait_command", sandbox=sandbox, job=job, wait_seconds=60)
                text += result.output
            return text, result.exit_code

    with McpClient(stack.url, stack.key) as client:
        for sandbox in labels:
            client.output(sandbox, "true")
    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        watched = [pool.submit(watch, number) for number in range(JOBS)]
        for number in range(JOBS):
            if not asleep.acquire(timeout=60):
                raise AssertionError(f"only {number} sleep; of those that ended: {[job.result() for job in watched if job.done()][:1]}")
        pids = (stack.agent.pid, stack.gateway.pid)
        before, begun = [cpu_seconds(pid) for pid in pids], time.monotonic()
        time.sleep(4)
        used = [(cpu_seconds(pid) - was) / (time.monotonic() - begun) for pid, was in zip(pids, before)]
        still = sum(not job.done() for job in watched)
        results = [job.result() for job in watched]
    for number, (text, code) in enumerate(results):
        expected = part(number, "a") + part(number, "b")
        assert hashlib.sha256(text.encode()).digest() == hashlib.sha256(expected.encode()).digest(), \
            (number, len(text), len(expected))
        assert code == number % 100
    assert still == JOBS, "they slept while it was measured"
    assert max(used) < MOST_CPU, used
