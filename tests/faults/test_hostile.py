"""Commands that mean harm end as results; their sandbox goes on or says what is broken, and no other notices."""

import hashlib
import secrets
import time

import pytest
from mcp_client import McpClient
from programs import bring, field, whole_output
from stack import Stack, wait_for

PROCESSES = 150
SEQ_HASH = hashlib.sha256("".join(f"{n}\n" for n in range(1, 20001)).encode()).hexdigest()[:8]


@pytest.fixture
def neighbour(stack):
    """Runs commands in another sandbox of another person's, before the harm and while it lasts; each must be right."""
    other = f"neighbour-{secrets.token_hex(3)}"
    with McpClient(stack.url, stack.key2) as bob:
        def works(times=5):
            for _ in range(times):
                token = secrets.token_hex(8)
                result = bob.run(other, f"echo {token} | cat; seq 1 20000 | sha256sum | cut -c1-8; exit 7")
                assert (result.exit_code, result.output) == (7, f"{token}\n{SEQ_HASH}\n"), result
        works(1)
        yield works


# ---- Everything used up ----

@pytest.fixture(scope="module")
def small():
    """A stack whose sandboxes may have few processes, so that a bomb doesn't need the whole machine."""
    with Stack(agent_settings={"SANDBOX_PIDS": str(PROCESSES)}) as running:
        yield running


@pytest.mark.parametrize("bomb", [f"fork_bomb {PROCESSES}", "b() { b | b & }; b; sleep 100"])
def test_a_fork_bomb_meets_its_limit_and_dies_with_its_command(small, bomb):
    with McpClient(small.url, small.key) as alice, McpClient(small.url, small.key2) as bob:
        bring(alice, "bomb", "fork_bomb")
        bob.output("beside", "true")
        job = field(alice.run("bomb", bomb, timeout_seconds=6, wait_seconds=2), "job")
        assert job
        assert bob.output("beside", "echo fine | cat") == "fine\n"
        beside = alice.run("bomb", "echo in between")
        said = beside.output == "in between\n" or "[cause pids]" in beside.first_line or "fork" in beside.text
        assert said and not beside.is_error, beside
        ended = alice.call("wait_command", sandbox="bomb", job=job)
        assert ended.exit_code == 124 or "[cause pids]" in ended.first_line, ended
        alice.call("stop_command", sandbox="bomb", job=job)
        after = wait_for("the sandbox to work again", lambda: (lambda r: r if r.exit_code == 0 else None)(
            alice.run("bomb", "echo /proc/[0-9]* | wc -w")), 10)
        assert int(after.output) < 20 and "[rebuilt]" not in after.first_line, after


def test_one_sandbox_that_takes_every_descriptor_and_pipe_doesnt_hold_another_up(alice, label, neighbour):
    bring(alice, label, "descriptor_hog")
    hog = alice.run(label, "descriptor_hog", timeout_seconds=60, wait_seconds=20)
    job = field(hog, "job")
    wait_for("it to have all", lambda: whole_output(alice, label, job) == "full\n", 40)
    neighbour(20)
    assert alice.run(label, "seq 1 3").output == "1\n2\n3\n", "nor its own"
    assert "[cause cancelled]" in alice.call("stop_command", sandbox=label, job=job).first_line


def test_a_full_disk_of_its_own_is_the_commands_own_failure(alice, label):
    """/dev/shm is the only one that is small."""
    result = alice.run(label, "head -c 4G /dev/zero >/dev/shm/fill")
    assert result.exit_code == 1 and "No space left on device" in result.output, result
    assert alice.run(label, "echo on").output == "on\n"
    assert alice.run(label, "rm /dev/shm/fill").exit_code == 0


# ---- Everything killed ----

def test_a_command_that_kills_all_it_can_see_ends_others_and_leaves_the_sandbox(alice, label, neighbour):
    victim = field(alice.run(label, "echo up; sleep 1000", wait_seconds=1), "job")
    killer = alice.run(label, "for i in 1 2 3; do for p in /proc/[0-9]*; do p=${p#/proc/}; "
                              "[ $p = $$ ] || kill -9 $p 2>/dev/null; done; done; kill -9 $$", timeout_seconds=20)
    assert "[cause signal KILL]" in killer.first_line and not killer.is_error, killer
    ended = alice.call("wait_command", sandbox=label, job=victim, offset=0)
    assert "[cause signal KILL]" in ended.first_line and ended.output == "up\n", ended
    assert "note: " in ended.text
    after = alice.run(label, "echo alive")
    assert after.output == "alive\n" and "[rebuilt]" not in after.first_line, after
    neighbour(1)


def test_a_killed_supervisor_is_an_outcome_and_its_tree_goes(alice, label):
    result = alice.run(label, "(setsid sleep 1000 & echo $!) ; kill -9 $PPID; sleep 1000", timeout_seconds=20)
    assert "[cause signal KILL]" in result.first_line and "watched over" in result.text, result
    sleeper = result.output.strip()
    wait_for("its tree to go", lambda: alice.run(label, f"test -e /proc/{sleeper}").exit_code == 1, 5)


def test_eight_seconds_of_kills_in_a_loop_cost_no_command_beside_them_its_answer(stack, label):
    """Supervisors, shells that wait and what init makes for the next command die at any moment of their lives."""
    with McpClient(stack.url, stack.key) as alice:
        alice.run(label, "true")
        job = field(alice.run(label, "trap '' TERM; while :; do for p in /proc/[0-9]*; do p=${p#/proc/}; "
                                     "[ $p = $$ ] || [ $p = $PPID ] || kill -9 $p 2>/dev/null; done; done",
                              wait_seconds=0, timeout_seconds=60), "job")
        until = time.monotonic() + 8
        answers = []
        while time.monotonic() < until:
            answers.append(alice.run(label, "echo here"))
        stopped = alice.call("stop_command", sandbox=label, job=job, signal="KILL")
        assert not any(answer.is_error for answer in answers), [answer for answer in answers if answer.is_error][:3]
        for answer in answers:
            assert answer.exit_code is not None or "[cause " in answer.first_line, answer
        assert len(answers) > 20
        assert not stopped.is_error
        after = alice.run(label, "echo alive")
        assert after.output == "alive\n" and "[rebuilt]" not in after.first_line, after


# ---- The shell replaced ----

def with_its_bash_replaced(alice, label, script):
    alice.output(label, "cat >/bin/next && chmod +x /bin/next && mv /bin/next /bin/bash", stdin=script)


def test_another_program_in_the_place_of_bash_is_the_sandboxs_own_affair(alice, label, neighbour):
    with_its_bash_replaced(alice, label, "#!/bin/dash\necho replaced\nexit 3\n")
    for _ in range(3):
        result = alice.run(label, "echo hello")
        assert (result.exit_code, result.output) == (3, "replaced\n"), result
    neighbour(1)


def test_a_shell_that_never_reads_its_command_is_ended_at_the_timeout(alice, label):
    with_its_bash_replaced(alice, label, "#!/bin/dash\ntrap '' TERM HUP\nwhile :; do sleep 1; done\n")
    for _ in range(2):
        started = time.monotonic()
        result = alice.run(label, "echo hello", timeout_seconds=1)
        assert result.exit_code == 124 and time.monotonic() - started < 8, result


def test_without_bash_each_command_says_so_until_it_is_back(stack, alice, label):
    alice.output(label, "rm /bin/bash")
    for _ in range(3):
        result = alice.run(label, "echo hello")
        assert "/bin/bash" in result.text and "[exit 0]" not in result.first_line, result
    principal = next(line.split()[-2] for line in stack.ctl("ls").stdout.splitlines() if line.startswith(label))
    stack.ctl("rm", principal, label)
    again = alice.run(label, "echo hello")
    assert again.output == "hello\n" and "[rebuilt]" in again.first_line, again


# ---- What isn't there ----

def test_nothing_that_isnt_there_is_told_from_what_is_anothers(alice, bob, label):
    """The text is the same byte for byte, and so is where it comes from: ids of another person's, of another sandbox, of nobody."""
    alices = field(alice.run(label, "sleep 5", wait_seconds=0), "job")
    other = f"{label}-2"
    alice.run(other, "true")
    elsewhere = field(alice.run(other, "sleep 5", wait_seconds=0), "job")
    bob.run(label, "true")
    for tool, more in (("wait_command", {}), ("read_output", {}), ("send_input", {"text": "x"}), ("stop_command", {})):
        texts = {bob.call(tool, sandbox=label, job=job, **more).text
                 for job in (alices, elsewhere, secrets.token_hex(16), "zz", alices.upper(), alices[:-1], alices + "0")}
        texts.add(alice.call(tool, sandbox=label, job=elsewhere, **more).text)
        assert len(texts) == 1, (tool, texts)


@pytest.mark.parametrize("signal", ["NOPE", "0", "-9", "65", "KILL ", "SIGNOPE", "1e3", "\0"])
def test_a_signal_that_doesnt_exist_is_named_and_nothing_is_sent(alice, label, signal):
    job = field(alice.run(label, "sleep 20", wait_seconds=0), "job")
    refused = alice.call("stop_command", sandbox=label, job=job, signal=signal)
    assert refused.is_error and "TERM, KILL, INT" in refused.text, refused
    assert "[running]" in alice.call("wait_command", sandbox=label, job=job, wait_seconds=0).first_line
    alice.call("stop_command", sandbox=label, job=job, signal="KILL")


def test_input_to_a_finished_command_is_refused_whatever_it_is(alice, label):
    job = field(alice.run(label, "sleep 0.3", wait_seconds=0, keep_stdin=True), "job")
    alice.call("wait_command", sandbox=label, job=job)
    for text, end in (("x", False), ("", True), ("x" * 100_000, True)):
        refused = alice.call("send_input", sandbox=label, job=job, text=text, end=end)
        assert refused.is_error and "has ended" in refused.text, refused
