"""Whatever a command does with its output, what it printed arrives whole, and as text."""

import concurrent.futures
import hashlib
import time

import pytest
from mcp_client import McpClient
from programs import bring, field, whole_output
from stack import wait_for

BYTE_WISE_LINE = "zürich € 😀 \ufffd.\n"


def test_a_command_that_closes_its_own_output_is_waited_for_and_judged(alice, shared_label):
    started = time.monotonic()
    result = alice.run(shared_label, "echo before; exec >&- 2>&-; sleep 1.5; exit 5")
    assert time.monotonic() - started >= 1.5
    assert (result.exit_code, result.output) == (5, "before\n"), result


def test_half_characters_are_never_shown_however_slowly_they_come(alice, label):
    bring(alice, label, "byte_wise")
    first = alice.run(label, "byte_wise 200 300", wait_seconds=0)
    job, text, looks = field(first, "job"), first.output, 1
    result = first
    while "[running]" in result.first_line:
        result = alice.call("wait_command", sandbox=label, job=job, wait_seconds=0)
        text += result.output
        looks += 1
    assert text == BYTE_WISE_LINE * 200
    assert looks > 20, "it was seen in many pieces"


@pytest.mark.parametrize("limit", [1, 3, 7])
def test_parts_of_any_size_join_to_the_whole(alice, label, limit):
    bring(alice, label, "byte_wise")
    job = field(alice.run(label, "byte_wise 3; sleep 0.2", wait_seconds=0), "job")
    alice.call("wait_command", sandbox=label, job=job)
    text, at = "", 0
    while at is not None:
        part = alice.call("read_output", sandbox=label, job=job, offset=at, limit=limit)
        text += part.output
        following = field(part, "next offset")
        assert following is None or int(following) > at, part
        at = None if following is None else int(following)
    assert text == BYTE_WISE_LINE * 3


def test_a_flood_is_kept_to_the_byte(stack, alice, label):
    bring(alice, label, "stdout_flood")
    lines = 2_000_000
    result = alice.run(label, f"stdout_flood {lines}")
    assert result.exit_code == 0
    path = result.text.split("[output](")[1].split(")")[0].split(f":{stack.port}", 1)[1]
    body = alice.send("GET", path).body
    expected = "".join(f"{n:015d}\n" for n in range(lines)).encode()
    assert hashlib.sha256(body).hexdigest() == hashlib.sha256(expected).hexdigest(), (len(body), len(expected))


def test_the_last_words_of_2000_commands_that_fail_at_once_are_never_lost(stack):
    """One after the other, each by a shell that waited for it, and eight at once, each by one of its own."""
    def fail(client, sandbox, numbers):
        wrong = []
        for number in numbers:
            result = client.run(sandbox, f"echo problem {number} >&2; exit 3")
            if (result.exit_code, result.output) != (3, f"problem {number}\n"):
                wrong.append((number, result))
        return wrong

    def one_of_eight(client_number):
        with McpClient(stack.url, stack.key) as client:
            return fail(client, "last-words-together", range(1000 + client_number, 2000, 8))

    with McpClient(stack.url, stack.key) as client:
        assert fail(client, "last-words-alone", range(1000)) == []
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert [entry for wrong in pool.map(one_of_eight, range(8)) for entry in wrong] == []


# ---- What is left behind ----

def test_a_command_sent_to_the_background_returns_at_once_and_prints_on_into_its_job(alice, label):
    alice.run(label, "true")
    started = time.monotonic()
    result = alice.run(label, "for i in 1 2 3; do sleep 0.5; echo later $i; done & echo now")
    assert time.monotonic() - started < 1.2
    assert (result.exit_code, result.output) == (0, "now\n"), result
    job = field(result, "job")
    assert job and "that it started run" in result.text, result
    whole = "now\nlater 1\nlater 2\nlater 3\n"
    wait_for("it to print on", lambda: whole_output(alice, label, job) == whole, 10)
    assert alice.call("wait_command", sandbox=label, job=job, offset=4).output == whole.removeprefix("now\n")


def test_an_orphan_prints_on_into_the_job_that_made_it(alice, label):
    bring(alice, label, "orphan")
    result = alice.run(label, "orphan 40")
    assert result.exit_code == 0, result
    job = field(result, "job")
    whole = "".join(f"orphan {n}\n" for n in range(1, 41))
    wait_for("it to print on", lambda: whole_output(alice, label, job) == whole, 10)


def test_a_daemon_dies_with_its_command_at_the_timeout(alice, label):
    bring(alice, label, "daemoniser")
    result = alice.run(label, "daemoniser; sleep 100", timeout_seconds=1)
    assert result.exit_code == 124 and "[cause timeout]" in result.first_line, result
    daemon = int(result.output)
    assert alice.run(label, f"test -e /proc/{daemon}").exit_code == 1


def test_a_daemon_that_is_meant_to_stay_stays_until_it_is_stopped(alice, label):
    bring(alice, label, "daemoniser")
    result = alice.run(label, "daemoniser; sleep 0.2")
    daemon = int(result.output)
    assert alice.run(label, f"test -e /proc/{daemon}").exit_code == 0
    alice.call("stop_command", sandbox=label, job=field(result, "job"))
    wait_for("it to end", lambda: alice.run(label, f"test -e /proc/{daemon}").exit_code == 1, 5)


# ---- Input ----

def test_ten_mebibytes_of_input_are_read_or_not_as_the_command_likes(alice, label):
    bring(alice, label, "stdin_reader")
    text = "x" * (10 << 20)
    assert alice.run(label, "stdin_reader", stdin=text).output == f"reading\n{10 << 20} bytes\n"
    unread = alice.run(label, "exit 4", stdin=text)
    assert (unread.exit_code, unread.output) == (4, ""), unread


def test_a_command_that_waits_for_input_says_so(alice, label):
    bring(alice, label, "stdin_reader")
    waits = alice.run(label, "stdin_reader", keep_stdin=True, wait_seconds=2)
    assert "[running] [cause input]" in waits.first_line, waits
    job = field(waits, "job")
    alice.call("send_input", sandbox=label, job=job, text="12345", end=True)
    assert alice.call("wait_command", sandbox=label, job=job).output == "5 bytes\n"
    waits = alice.run(label, "stdin_reader", keep_stdin=True, timeout_seconds=2)
    assert "[running] [cause input]" in waits.first_line, waits
    timed_out = wait_for("its end", lambda: (lambda r: r if "[running]" not in r.first_line else None)(
        alice.call("wait_command", sandbox=label, wait_seconds=1)), 10)
    assert timed_out.exit_code == 124 and "waited for input" in timed_out.text, timed_out
