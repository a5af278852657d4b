"""Commands that cannot be lost: handed back, waited for, read, typed to, stopped, cancelled, and found again."""

import contextlib
import http.client
import json
import secrets
import time

import pytest
from mcp_client import LEGACY, MODERN, McpClient
from stack import PAUSE_SECONDS, wait_for
from test_commands import processes_with, sleep_marker


def field(result, name):
    """The value of a field of the first line, or None."""
    _, found, tail = result.first_line.partition(f"[{name} ")
    return tail.split("]")[0] if found else None


def call_body(client, tool, arguments, identifier, token=None):
    """A tools/call of the client's era, as bytes and headers."""
    params = {"name": tool, "arguments": arguments}
    headers = {"MCP-Protocol-Version": client.era}
    meta = {} if token is None else {"progressToken": token}
    if client.era == MODERN:
        meta |= {"io.modelcontextprotocol/protocolVersion": MODERN, "io.modelcontextprotocol/clientCapabilities": {}}
        headers |= {"Mcp-Method": "tools/call", "Mcp-Name": tool}
    if meta:
        params["_meta"] = meta
    return json.dumps({"jsonrpc": "2.0", "id": identifier, "method": "tools/call", "params": params}), headers


@contextlib.contextmanager
def open_call(client, tool, arguments, identifier=1, token=None, accept="application/json, text/event-stream"):
    """A call whose answer isn't read: the response's connection, to read from or to close."""
    body, headers = call_body(client, tool, arguments, identifier, token)
    connection = http.client.HTTPConnection(client.host, client.port, timeout=30)
    try:
        connection.request("POST", client.path, body, {**headers, "Content-Type": "application/json", "Accept": accept,
                                                       "Authorization": f"Bearer {client.key}"})
        yield connection
    finally:
        connection.close()


def test_a_command_that_outlasts_the_waiting_is_handed_back_and_waited_for(either_era, label):
    started = time.monotonic()
    first = either_era.run(label, "echo one; sleep 3; echo two; exit 7", wait_seconds=1)
    assert time.monotonic() - started < 10
    assert "[running]" in first.first_line and first.exit_code is None, first
    assert first.output == "one\n"
    assert field(first, "next offset") == "4"
    assert 800 < int(field(first, "ends in").split()[0]) <= 900
    second = either_era.call("wait_command", sandbox=label, job=field(first, "job"))
    assert (second.exit_code, second.output) == (7, "two\n"), second
    again = either_era.call("wait_command", sandbox=label, job=field(first, "job"), offset=0)
    assert (again.exit_code, again.output) == (7, "one\ntwo\n"), again


def test_waiting_without_a_job_means_the_newest(alice, label):
    alice.run(label, "echo old")
    alice.run(label, "sleep 1; echo newest", wait_seconds=0)
    assert alice.call("wait_command", sandbox=label).output == "newest\n"


def test_only_looking_does_not_wait(alice, label):
    alice.run(label, "echo so far; sleep 30", wait_seconds=1)
    started = time.monotonic()
    result = alice.call("wait_command", sandbox=label, wait_seconds=0, offset=0)
    assert time.monotonic() - started < 1
    assert "[running]" in result.first_line and result.output == "so far\n", result
    alice.call("stop_command", sandbox=label)


def test_background_returns_after_a_second_or_at_its_end(alice, label):
    alice.run(label, "true")
    started = time.monotonic()
    server = alice.run(label, "echo listening; exec sleep 60", background=True)
    assert 0.9 < time.monotonic() - started < 15
    assert "[running]" in server.first_line and server.output == "listening\n", server
    assert int(field(server, "ends in").split()[0]) > 40_000
    other = alice.run(label, "true")
    assert "1 other command runs" in other.text, other
    failed = alice.run(label, "echo broken >&2; exit 3", background=True)
    assert (failed.exit_code, failed.output) == (3, "broken\n"), failed
    assert alice.call("stop_command", sandbox=label, job=field(server, "job")).first_line.endswith("[cause cancelled]")


def test_a_port_that_begins_to_listen_is_told_once(alice, label):
    server = alice.run(label, "exec python3 -m http.server 8123", background=True)
    told = [server.text]

    def count():
        return sum(text.count("note: port 8123 listens now, reachable only from this sandbox") for text in told)

    def seen():
        if count() == 0:
            told.append(alice.call("wait_command", sandbox=label, job=field(server, "job"), wait_seconds=1).text)
        return count() > 0
    wait_for("the note", seen)
    told.append(alice.run(label, "true").text)
    assert count() == 1, told


def test_a_port_that_listens_after_its_command_has_returned_is_told_with_the_next(alice, label):
    first = alice.run(label, "(sleep 0.5; exec python3 -m http.server 8124) >/dev/null 2>&1 &")
    assert "8124 listens" not in first.text
    wait_for("the note", lambda: "port 8124 listens now" in alice.run(label, "true").text)


def test_stdin_is_written_and_closed(alice, shared_label):
    assert alice.run(shared_label, "cat; echo end", stdin="a\nb\n").output == "a\nb\nend\n"
    assert alice.run(shared_label, "read -r x; echo \"[$x]\"", stdin="one\ntwo\n").output == "[one]\n"


def test_ten_mebibytes_of_stdin_arrive(alice, label):
    text = ("0123456789abcde\n" * 65536) * 10
    result = alice.run(label, "sha256sum; true", stdin=text)
    import hashlib
    assert result.output.split()[0] == hashlib.sha256(text.encode()).hexdigest(), result


def test_cwd_and_env(alice, shared_label):
    result = alice.run(shared_label, 'echo "$PWD $A-$B"', cwd="/tmp", env={"A": "1", "B": "x y"})
    assert result.output == "/tmp 1-x y\n", result
    assert alice.run(shared_label, "true", env={"A=B": "1"}).is_error


def test_a_conversation_with_a_command(alice, label):
    first = alice.run(label, 'while read -r line; do echo "got $line"; done; echo over', keep_stdin=True, wait_seconds=1)
    job = field(first, "job")
    assert "[running]" in first.first_line, first
    assert "4 bytes sent" in alice.call("send_input", sandbox=label, job=job, text="one\n").text
    assert alice.call("wait_command", sandbox=label, job=job, wait_seconds=1).output == "got one\n"
    alice.call("send_input", sandbox=label, job=job, text="two\n", end=True)
    last = alice.call("wait_command", sandbox=label, job=job)
    assert (last.exit_code, last.output) == (0, "got two\nover\n"), last
    refused = alice.call("send_input", sandbox=label, job=job, text="x")
    assert refused.is_error and "has ended" in refused.text, refused


def test_input_to_a_command_without_any_is_refused(alice, label):
    first = alice.run(label, "sleep 20", wait_seconds=0)
    refused = alice.call("send_input", sandbox=label, job=field(first, "job"), text="x")
    assert refused.is_error and "keep_stdin" in refused.text, refused
    alice.call("stop_command", sandbox=label)


def test_stopping_one_that_ignores_sigterm(alice, label):
    marker = sleep_marker()
    alice.run(label, f"trap '' TERM; (setsid sleep {marker} &); echo up; while :; do sleep {marker}; done", wait_seconds=1)
    started = time.monotonic()
    result = alice.call("stop_command", sandbox=label)
    assert time.monotonic() - started < 5
    assert "[cause cancelled]" in result.first_line, result
    wait_for("the tree to end", lambda: not processes_with(marker), 3)


def test_another_signal_is_only_sent(alice, label):
    alice.run(label, "trap 'echo hup' HUP; while :; do sleep 0.05; done", wait_seconds=1)
    result = alice.call("stop_command", sandbox=label, signal="HUP")
    assert "[running]" in result.first_line and result.output.endswith("hup\n"), result
    assert alice.call("stop_command", sandbox=label, signal="KILL").exit_code == 137
    unknown = alice.call("stop_command", sandbox=label, signal="NOPE")
    assert unknown.is_error and "TERM, KILL, INT" in unknown.text, unknown


def test_stopping_what_a_finished_command_left_behind(alice, label):
    marker = sleep_marker()
    first = alice.run(label, f"sleep {marker} & echo started")
    assert first.exit_code == 0 and processes_with(marker)
    result = alice.call("stop_command", sandbox=label, job=field(first, "job"))
    assert "had left behind" in result.text, result
    wait_for("it to end", lambda: not processes_with(marker), 5)


# ---- Cancellation ----

def longest_look(marker):
    """Seconds that a look at all processes takes here and now."""
    looks = []
    for _ in range(5):
        before = time.monotonic()
        processes_with(marker)
        looks.append(time.monotonic() - before)
    return max(looks)


def test_an_explicit_cancel_kills_the_tree_within_a_quarter_of_a_second(alice, label):
    """Seen from the host: the end shows in the second look at the latest, after a look that had begun before it."""
    marker = sleep_marker()
    alice.run(label, "true")
    command = f"trap '' TERM; (setsid sleep {marker} &); sleep {marker}"
    with open_call(alice, "run_command", {"sandbox": label, "command": command}, identifier=77) as connection:
        wait_for("both to run", lambda: len(processes_with(marker)) >= 2, 10)
        looking = 2 * longest_look(marker) + PAUSE_SECONDS
        notification = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 77}}
        cancelled = time.monotonic()
        assert alice.post(json.dumps(notification), {"MCP-Protocol-Version": LEGACY}).status == 202
        wait_for("the tree to end", lambda: not processes_with(marker), 5)
        assert time.monotonic() - cancelled < 0.25 + looking, looking
        assert b"[cause cancelled]" in connection.getresponse().read()


def test_a_modern_clients_closed_stream_ends_its_command(stack, label):
    marker = sleep_marker()
    with McpClient(stack.url, stack.key, MODERN) as client:
        with open_call(client, "run_command", {"sandbox": label, "command": f"sleep {marker}"}):
            wait_for("it to run", lambda: processes_with(marker), 20)
        wait_for("it to end", lambda: not processes_with(marker), 12)
        assert "cause cancelled" in client.call("sandbox_info", sandbox=label).text


def test_a_closed_stream_leaves_ten_seconds_to_end_well(stack, label):
    """What takes three to put things in order does so; what doesn't heed it at all is killed after ten."""
    marker = sleep_marker()
    orderly = f"trap 'sleep 3; echo saved >ended; exit' TERM; touch up; while :; do sleep 0.1; done; : {marker}"
    deaf = f"trap '' TERM; touch up-too; sleep {marker}"
    with McpClient(stack.url, stack.key, MODERN) as client:
        client.run(label, "true")
        with open_call(client, "run_command", {"sandbox": label, "command": orderly}), \
                open_call(client, "run_command", {"sandbox": label, "command": deaf}, identifier=2):
            wait_for("both to run", lambda: client.run(label, "test -e up -a -e up-too").exit_code == 0, 20)
        closed = time.monotonic()
        wait_for("its last words", lambda: client.run(label, "cat ended").output == "saved\n", 9)
        assert 3 <= time.monotonic() - closed
        assert processes_with(marker), "the deaf one has time left"
        wait_for("the deaf one to end", lambda: not processes_with(marker), 12)
        assert 9.5 < time.monotonic() - closed < 13


def test_without_cancel_on_disconnect_a_closed_stream_ends_nothing(stack, label):
    stack.stop_gateway()
    stack.start_gateway(CANCEL_ON_DISCONNECT="0")
    try:
        with McpClient(stack.url, stack.key, MODERN) as client:
            client.run(label, "true")
            command = "touch up; until test -e go; do sleep 0.1; done; echo over; exit 7"
            with open_call(client, "run_command", {"sandbox": label, "command": command}):
                wait_for("it to run", lambda: client.run(label, "test -e up").exit_code == 0, 20)
            # Longer than a closed stream gives elsewhere: there it would be dead.
            time.sleep(12)
            listed = client.call("sandbox_info", sandbox=label).text
            job = next(line.split()[2].rstrip(":") for line in listed.split("\n") if ": touch up; until" in line)
            assert "[running]" in client.call("wait_command", sandbox=label, job=job, wait_seconds=0).first_line
            client.output(label, "touch go")
            ended = client.call("wait_command", sandbox=label, job=job)
            assert (ended.exit_code, ended.output) == (7, "over\n"), ended
    finally:
        stack.stop_gateway()
        stack.start_gateway()


def test_an_older_clients_closed_stream_ends_nothing(alice, label):
    marker = sleep_marker()
    with open_call(alice, "run_command", {"sandbox": label, "command": f"echo up; sleep {marker}"}):
        wait_for("it to run", lambda: processes_with(marker), 20)
    found = alice.call("wait_command", sandbox=label, wait_seconds=1)
    assert "[running]" in found.first_line and found.output == "up\n", found
    assert processes_with(marker)
    alice.call("stop_command", sandbox=label)


def test_a_disconnect_while_waiting_ends_nothing(stack, label):
    marker = sleep_marker()
    with McpClient(stack.url, stack.key, MODERN) as client:
        job = field(client.run(label, f"sleep {marker}", wait_seconds=0), "job")
        with open_call(client, "wait_command", {"sandbox": label, "job": job}) as connection:
            assert connection.getresponse().status == 200
        assert "[running]" in client.call("wait_command", sandbox=label, job=job, wait_seconds=1).first_line
        assert processes_with(marker)
        client.call("stop_command", sandbox=label, job=job)


# ---- Streams ----

def test_a_slow_call_is_a_stream_with_progress_and_its_answer_at_the_end(either_era, label):
    either_era.run(label, "true")
    command = "for i in 1 2 3 4; do printf '\\r%s0%%' $i; sleep 0.3; done; echo; echo done"
    with open_call(either_era, "run_command", {"sandbox": label, "command": command}, token="tok") as connection:
        asked = time.monotonic()
        response = connection.getresponse()
        assert response.getheader("Content-Type") == "text/event-stream"
        assert response.readline() == b":\n"
        assert time.monotonic() - asked < 0.9
        events = [json.loads(line[5:]) for line in response.read().split(b"\n") if line.startswith(b"data:")]
    progress = [event["params"] for event in events if event.get("method") == "notifications/progress"]
    assert 2 <= len(progress) <= 6, progress
    assert all(event["progressToken"] == "tok" for event in progress)
    values = [event["progress"] for event in progress]
    assert values == sorted(set(values)), values
    assert any(event.get("message", "").endswith("0%") for event in progress), progress
    assert events[-1]["result"]["content"][0]["text"].endswith("40%\ndone\n")


def test_a_quick_call_is_one_plain_answer(either_era, shared_label):
    either_era.run(shared_label, "true")
    with open_call(either_era, "run_command", {"sandbox": shared_label, "command": "echo x"}, token=1) as connection:
        assert connection.getresponse().getheader("Content-Type") == "application/json"


# ---- Output ----

def test_any_part_of_a_long_output_can_be_read(alice, label):
    result = alice.run(label, "seq 1 40000")
    assert "left out here" in result.text, result.text[:200]
    offset = int(result.text.split(" and offset ")[1].split()[0])
    job = field(result, "job")
    part = alice.call("read_output", sandbox=label, job=job, offset=offset, limit=600)
    whole = "".join(f"{i}\n" for i in range(1, 40001))
    assert part.output == whole[offset:offset + 600], part
    assert field(part, "next offset") == str(offset + 600)
    read, at = "", 0
    while at is not None:
        part = alice.call("read_output", sandbox=label, job=job, offset=at)
        read += part.output
        at = field(part, "next offset")
        at = None if at is None else int(at)
    assert read == whole


def test_all_of_it_by_link(stack, alice, label):
    result = alice.run(label, "seq 1 40000")
    path = result.text.split("[output](")[1].split(")")[0].split(f":{stack.port}", 1)[1]
    answer = alice.send("GET", path)
    assert answer.status == 200
    assert answer.body == "".join(f"{i}\n" for i in range(1, 40001)).encode()
    assert answer.headers["content-disposition"].startswith("attachment")
    assert alice.send("GET", path.replace("/.jobs/", "/jobs/")).status == 404


def test_colours_and_progress_bars_are_left_out(alice, shared_label):
    command = r"printf '\033[31mred\033[0m\n'; for i in 1 2 3; do printf '\r%s0%%' $i; done; printf '\n\033]0;t\007ok\n'"
    assert alice.output(shared_label, command) == "red\n30%\nok\n"


@pytest.mark.parametrize("tool", ["wait_command", "read_output"])
def test_offsets_that_cannot_be(alice, shared_label, tool):
    job = field(alice.run(shared_label, "sleep 1", wait_seconds=0), "job")
    for offset, words in ((-1, "0 or more"), (10_000, "past the end")):
        refused = alice.call(tool, sandbox=shared_label, job=job, offset=offset)
        assert refused.is_error and words in refused.text, refused


# ---- Found again ----

def test_an_unknown_and_anothers_job_have_the_same_answer(alice, bob, label):
    job = field(alice.run(label, "sleep 20", wait_seconds=0), "job")
    bob.run(label, "true")
    unknown = secrets.token_hex(16)
    for tool, more in (("wait_command", {}), ("read_output", {}), ("send_input", {"text": "x"}), ("stop_command", {})):
        texts = {bob.call(tool, sandbox=label, job=job, **more).text, bob.call(tool, sandbox=label, job=unknown, **more).text,
                 bob.call(tool, sandbox=label, job="nonsense", **more).text}
        assert len(texts) == 1 and "no such job" in texts.pop(), tool
    assert "[running]" in alice.call("wait_command", sandbox=label, job=job, wait_seconds=0).first_line
    alice.call("stop_command", sandbox=label, job=job)


def test_a_lost_call_is_found_through_sandbox_info(alice, label):
    marker = sleep_marker()
    with open_call(alice, "run_command", {"sandbox": label, "command": f"echo precious; sleep {marker}"}):
        wait_for("it to run", lambda: processes_with(marker), 20)
    listed = alice.call("sandbox_info", sandbox=label).text
    line = next(line for line in listed.split("\n") if marker in line)
    assert line.startswith("- job ") and ": running," in line, line
    job = line.split()[2].rstrip(":")
    assert alice.call("read_output", sandbox=label, job=job).output == "precious\n"
    alice.call("stop_command", sandbox=label, job=job)


def test_the_last_twenty_commands_are_listed_by_their_first_eighty_characters(alice, label):
    commands = [f": {n:02d} " + "aü€😀" * 30 for n in range(23)]
    for command in commands:
        alice.output(label, command)
    listed = [line for line in alice.call("sandbox_info", sandbox=label).text.split("\n") if line.startswith("- job ")]
    assert [line.split(" printed ")[1].partition(": ")[2] for line in listed] == [command[:80] for command in reversed(commands[-20:])]


def test_what_a_command_printed_outlives_its_container(stack, alice, label):
    """One that had ended and one that was running when the container was removed."""
    ended = alice.run(label, "seq 1 40000; exit 9")
    running = field(alice.run(label, "echo begun; sleep 1000", wait_seconds=1), "job")
    principal = next(row["principal"] for row in json.loads(stack.ctl("--json", "ls").stdout)["sandboxes"] if row["label"] == label)
    stack.ctl("rm", principal, label)

    def expect_both_whole():
        first = alice.call("read_output", sandbox=label, job=field(ended, "job"), offset=0)
        assert first.exit_code == 9 and first.output.startswith("1\n2\n3\n"), first.first_line
        cut = alice.call("wait_command", sandbox=label, job=running, offset=0)
        assert "[cause removed]" in cut.first_line and cut.output == "begun\n", cut
    expect_both_whole()
    # A new container in its place changes nothing of that.
    assert "[rebuilt]" in alice.run(label, "true").first_line
    expect_both_whole()


def test_a_killed_gateway_loses_no_command(stack, label):
    with McpClient(stack.url, stack.key) as client:
        job = field(client.run(label, "echo one; sleep 3; echo two", wait_seconds=1), "job")
        stack.kill_gateway()
        stack.start_gateway()
        client.close()
        result = client.call("wait_command", sandbox=label, job=job)
        assert (result.exit_code, result.output) == (0, "one\ntwo\n"), result
        assert "isn't known here" in result.text
