"""What a shell promises, a command in a sandbox keeps: exit codes, output, and an end when its time is over."""

import base64
import itertools
import json
import os
import pathlib
import secrets
import subprocess

import pytest
from stack import wait_for


def processes_with(marker):
    """Host processes that have the marker in their command line."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            if marker.encode() in (entry / "cmdline").read_bytes():
                found.append(int(entry.name))
        except OSError:
            continue
    return [pid for pid in found if pid != os.getpid()]


def sleep_marker():
    """A number of seconds that no other process sleeps."""
    return f"9{secrets.randbelow(10**8):08d}"


@pytest.mark.host
def test_a_command_answers_in_both_eras(either_era, shared_label):
    result = either_era.run(shared_label, "echo hello; echo there >&2")
    assert result.exit_code == 0
    assert result.output == "hello\nthere\n"
    assert result.first_line.startswith(f"[sandbox {shared_label}]")


@pytest.mark.host
@pytest.mark.parametrize("command, code", [("false", 1), ("exit 42", 42), ("no-such-command", 127), ("true", 0),
                                           ("kill -KILL $$", 137)])
def test_the_exit_code_is_the_commands_own(alice, shared_label, command, code):
    result = alice.run(shared_label, command)
    assert (result.exit_code, result.is_error) == (code, False), result


@pytest.mark.host
def test_bash_is_the_shell(alice, shared_label):
    assert alice.output(shared_label, '[[ abc == a* ]] && a=(1 2 3) && echo "${#a[@]}"') == "3\n"
    assert alice.run(shared_label, "set -o pipefail; false | true").exit_code == 1


@pytest.mark.host
def test_each_command_starts_in_the_workspace_with_nothing_carried_over(alice, shared_label):
    alice.output(shared_label, "cd /tmp; export LEFT=over")
    assert alice.output(shared_label, 'echo "$PWD ${LEFT-none}"') == "/workspace none\n"


def test_a_timeout_ends_the_whole_tree(alice, label):
    marker = sleep_marker()
    result = alice.run(label, f"sleep {marker} & (setsid sleep {marker} &) ; nohup setsid bash -c 'trap \"\" TERM; sleep "
                              f"{marker}; sleep {marker}' & sleep {marker}", timeout_seconds=1)
    assert result.exit_code == 124, result
    assert "[cause timeout]" in result.first_line
    wait_for("the tree to end", lambda: not processes_with(marker), 5)


@pytest.mark.host
def test_a_background_process_does_not_hold_the_answer(alice, label):
    result = alice.run(label, "sleep 60 & echo started")
    assert result.output == "started\n"
    assert result.exit_code == 0
    assert alice.output(label, "pgrep -x sleep | wc -l") == "1\n", "and it lives on"


def test_no_zombies_after_300_commands(alice, label):
    for _ in range(300):
        assert alice.run(label, "true | (sleep 0 &)").exit_code == 0
    assert alice.output(label, "grep -l '^State:.Z' /proc/[0-9]*/status 2>/dev/null | wc -l") == "0\n"


def test_a_command_of_200_kb_runs(alice, shared_label):
    text = base64.b64encode(os.urandom(150_000)).decode()
    assert alice.output(shared_label, f"text={text}\necho ${{#text}}") == f"{len(text)}\n"


def test_a_command_over_a_mebibyte_is_refused(alice, shared_label):
    result = alice.run(shared_label, "#" * (1024 * 1024 + 1))
    assert result.is_error
    assert "1048576" in result.text or "1 MiB" in result.text


def test_a_command_with_nul_is_refused(alice, shared_label):
    result = alice.run(shared_label, "echo a\0b")
    assert result.is_error and "NUL" in result.text


def test_a_gigabyte_of_output_is_cut_to_head_and_tail(alice, label):
    result = alice.run(label, "echo first; yes 0123456789abcde | head -c 1073741824; echo last", timeout_seconds=300)
    assert result.exit_code == 0
    assert len(result.text.encode()) < 60_000
    assert result.output.startswith("first\n") and result.output.rstrip().endswith("last")


def test_output_that_is_no_text_is_described(alice, shared_label):
    result = alice.run(shared_label, "head -c 5000 /dev/urandom")
    assert "binary" in result.text and len(result.text) < 1000


def test_one_bad_byte_costs_one_character(alice, shared_label):
    assert alice.output(shared_label, r"printf 'caf\351 ok and some more plain text\n'") == \
        "caf\ufffd ok and some more plain text\n"


@pytest.mark.host
def test_what_a_program_expects_of_its_surroundings_is_there(alice, shared_label):
    """Nothing waits for a person, everything is readable, and what one command makes another's program can read."""
    shown = alice.output(shared_label, "umask; echo $TERM $LANG $DEBIAN_FRONTEND $PAGER; locale charmap")
    assert shown == "0022\ndumb C.UTF-8 noninteractive cat\nUTF-8\n"


@pytest.mark.host
def test_stdin_is_empty_not_ours(alice, shared_label):
    assert alice.run(shared_label, "read -t 5 line; echo $?").output == "1\n"


@pytest.mark.host
def test_the_hosts_environment_stays_outside(alice, shared_label):
    ours = {"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TERM", "PAGER", "DEBIAN_FRONTEND"}
    of_bash = {"PWD", "OLDPWD", "SHLVL", "_"}
    of_the_image = {"PIP_BREAK_SYSTEM_PACKAGES", "PIP_ROOT_USER_ACTION", "PIP_DISABLE_PIP_VERSION_CHECK"}
    # Of an image that was built behind a proxy with a certificate of its own.
    of_its_proxy = {"SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS"}
    names = set(alice.output(shared_label, "compgen -e").split())
    assert ours <= names <= ours | of_bash | of_the_image | of_its_proxy, names
    assert alice.output(shared_label, "(cat /proc/1/environ 2>/dev/null || true) | tr '\\0' '\\n' | grep -c SANDBOX_ || true") == "0\n"


# What a user of the host sees of every process: prints where, of the given words, each stands.
LOOK = """
import glob, json, os, sys
found = {}
for path in glob.glob("/proc/[0-9]*"):
    try:
        texts = {"cmdline": open(path + "/cmdline", "rb").read()}
    except OSError:
        continue
    for name in ("environ", "maps"):
        try:
            texts[name] = open(path + "/" + name, "rb").read()
        except OSError:
            pass
    try:
        for fd in os.listdir(path + "/fd"):
            texts["fd " + os.readlink(path + "/fd/" + fd)] = open(path + "/fd/" + fd, "rb").read(65536)
    except OSError:
        pass
    for word in sys.argv[1:]:
        for name, text in texts.items():
            if word.encode() in text and path != "/proc/%d" % os.getpid():
                found.setdefault(word, []).append(name)
print(json.dumps(found))
"""


def test_another_host_user_sees_nothing_of_a_running_command(alice, label):
    """Neither its text, nor its environment, nor what it was given to read: only what it runs stands in a command line."""
    text, variable, given = (f"{kind}-{secrets.token_hex(8)}" for kind in ("text", "variable", "given"))
    marker = sleep_marker()
    alice.run(label, f"# {text}\nread -r line; sleep {marker}", env={"SECRET": variable}, stdin=f"{given}\nmore\n", wait_seconds=0)
    wait_for("it to run", lambda: processes_with(marker), 10)
    halves = [(word[:8], word[8:]) for word in (text, variable, given, marker)]
    # The looker's own command line is there for everyone too: it gets the words with their halves apart.
    look = "import sys\nsys.argv[1:] = map(''.join, zip(sys.argv[1::2], sys.argv[2::2]))\n" + LOOK
    done = subprocess.run(["setpriv", "--reuid", "nobody", "--regid", "nogroup", "--clear-groups", "python3", "-c", look,
                           *itertools.chain(*halves)], cwd="/", capture_output=True, text=True, timeout=60, check=True)
    found = json.loads(done.stdout)
    assert found.pop(marker) == ["cmdline"], "it can look"
    assert found == {}
    alice.call("stop_command", sandbox=label)
