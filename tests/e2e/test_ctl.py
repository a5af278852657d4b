"""sandkeepctl: what an operator asks the agent, without the gateway."""

import json
import re
import subprocess

import pytest
from mcp_client import McpClient
from stack import EXECUTABLES, ROOT, Stack, as_user


@pytest.mark.parametrize("program", EXECUTABLES)
def test_each_program_says_its_version_and_asks_nobody(stack, program):
    version = re.search(r"project\(sandkeep VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text())[1]
    done = subprocess.run([stack.state / "bin" / program, "--version"], env={}, cwd="/", stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=30)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{program} {version}\n", "")


def as_json(stack, *arguments):
    return json.loads(stack.ctl("--json", *arguments).stdout)


def row(stack, label):
    """The line of `ls` for one sandbox, by the names of its columns."""
    head, *lines = stack.ctl("ls").stdout.splitlines()
    assert head.split() == ["LABEL", "STATE", "JOBS", "LAST", "USED", "PRINCIPAL", "KEY"]
    (line,) = (line for line in lines if line.split()[0] == label)
    return {name: line[head.index(name):].split("  ")[0].strip() for name in ("LABEL", "STATE", "JOBS", "PRINCIPAL", "KEY")}


def test_info_says_what_there_is(stack):
    text = stack.ctl("info").stdout
    for words in ("version ", "profile  ", "conversation", "network  ", "full", "podman", "running  ", " of 8, ", "disk free"):
        assert words in text, (words, text)
    told = as_json(stack, "info")
    assert told["profile"] == "conversation" and told["network"] == "full"
    assert told["capacity"]["sandboxes_max"] == 8 and told["problems"] == []


def test_ls_shows_each_sandbox_with_its_jobs(stack, alice, bob, label):
    alice.run(label, "sleep 100", wait_seconds=0)
    bob.run(label + "-b", "true")
    hers, his = row(stack, label), row(stack, label + "-b")
    assert (hers["STATE"], hers["JOBS"]) == ("running", "1") and (his["STATE"], his["JOBS"]) == ("running", "0")
    assert hers["PRINCIPAL"].startswith("key-") and hers["PRINCIPAL"] != his["PRINCIPAL"]
    assert hers["KEY"].startswith(label[:24])
    told = {sandbox["label"]: sandbox for sandbox in as_json(stack, "ls")["sandboxes"]}
    assert told[label]["principal"] == hers["PRINCIPAL"] and told[label]["key"] == hers["KEY"]
    assert told[label]["state"] == "RUNNING" and told[label]["running_jobs"] == 1
    alice.call("stop_command", sandbox=label)


def test_rm_ends_a_sandbox_and_keeps_its_files(stack, alice, label):
    alice.output(label, "echo kept >f.txt; echo gone >/tmp/f.txt")
    principal = row(stack, label)["PRINCIPAL"]
    containers = len(stack.containers())
    assert stack.ctl("rm", principal, label).stdout == "removed; its files are kept\n"
    assert len(stack.containers()) == containers - 1
    assert stack.ctl("rm", principal, label).stdout == "nothing to remove\n"
    again = alice.run(label, "cat f.txt; cat /tmp/f.txt")
    assert "[rebuilt]" in again.first_line and again.output.startswith("kept\n") and "No such file" in again.output, again


def test_gc_only_says_what_it_would_do(stack, alice, label):
    alice.output(label, "echo kept >f.txt")
    before = sorted(stack.containers()), sorted(stack.volumes())
    done = stack.ctl("gc", "--dry-run", check=False)
    assert done.returncode == 0, done
    assert "removed" not in done.stdout.replace("would remove", ""), done
    assert as_json(stack, "gc", "--dry-run")["dry_run"] is True
    assert (sorted(stack.containers()), sorted(stack.volumes())) == before
    assert alice.output(label, "cat f.txt") == "kept\n"


@pytest.mark.parametrize("arguments", [(), ("nonsense",), ("ls", "x"), ("rm", "key-1"), ("rm", "a", "b", "c"), ("ls", "--dry-run")])
def test_what_it_doesnt_know_is_its_usage_and_2(stack, arguments):
    done = stack.ctl(*arguments, check=False)
    assert done.returncode == 2 and "usage: sandkeepctl" in done.stderr and done.stdout == "", done


def test_a_principal_or_label_that_cannot_be_is_refused(stack):
    for principal, label in (("nobody", "x"), ("key-1", ""), ("", "x"), ("key-1", "!!!"), ("key-1", "x" * 65)):
        done = stack.ctl("rm", principal, label, check=False)
        assert done.returncode in (1, 2) and len(done.stderr.strip().splitlines()) == 1, (principal, label, done)


@pytest.mark.parametrize("user", ["nobody", "sandkeep", "sandkeep-gw"])
def test_another_user_may_not_operate(stack, alice, label, user):
    alice.output(label, "true")
    principal = row(stack, label)["PRINCIPAL"]
    ctl = [stack.state / "bin" / "sandkeepctl", f"--agent_socket={stack.socket}"]
    for arguments in (("ls",), ("gc", "--dry-run"), ("rm", principal, label)):
        done = subprocess.run(as_user(user, {}, *ctl, *arguments), cwd="/", capture_output=True, text=True, timeout=60)
        if user == "sandkeep-gw" and arguments[0] == "rm":
            continue  # It may act for this principal, and does so for whoever holds the principal's key.
        assert done.returncode in (1, 2) and done.stdout == "", (arguments, done)
        assert len(done.stderr.strip().splitlines()) == 1, done
    if user != "sandkeep-gw":
        assert alice.run(label, "true").first_line.find("[rebuilt]") == -1


def test_a_dead_agent_is_said_at_once():
    with Stack() as stack, McpClient(stack.url, stack.key) as client:
        client.output("beside", "true")
        stack.kill_agent()
        for arguments in (("info",), ("ls",), ("--json", "ls")):
            done = stack.ctl(*arguments, check=False)
            assert done.returncode == 1 and done.stdout == "", done
            assert done.stderr.startswith("sandkeepctl: ") and "agent" in done.stderr, done
        stack.start_agent()
        assert row(stack, "beside")["STATE"] == "running"
