"""A sandbox that fills its share of the disk waits, says so, and can be cleaned up; old files and sandboxes go."""

import json
import re

import pytest
from mcp_client import McpClient
from stack import Stack, wait_for

GROW = "while :; do head -c 4M /dev/zero >>big; [ -e stop ] && break; done; echo went on"


@pytest.fixture(scope="module")
def small():
    with Stack({"SANDBOX_DISK": "96m"}) as stack, McpClient(stack.url, stack.key) as client:
        yield stack, client


def ended(client, label, started):
    """The result of a handed back command that goes on: until then each wait says that it stands."""
    job = re.search(r"\[job ([0-9a-f]{32})\]", started.first_line).group(1)

    def wait():
        told = client.call("wait_command", sandbox=label, job=job, wait_seconds=5)
        return told if "[running]" not in told.first_line else None
    return wait_for("it to end", wait, 60)


def test_what_grows_waits_and_goes_on_when_there_is_room(small, label):
    stack, client = small
    started = client.run(label, GROW, wait_seconds=60)
    assert "[running] [cause disk]" in started.first_line, started
    assert "note: paused, since this sandbox has used up its 96 MiB of disk" in started.text, started
    told = [row for row in json.loads(stack.ctl("--json", "ls").stdout)["sandboxes"] if row["label"] == label]
    assert int(told[0]["workspace_bytes"]) >= 96 << 20, told
    size = client.output(label, "stat -c %s big")
    assert "paused for the disk" in client.call("sandbox_info", sandbox=label).text
    # It stands still, and everything else works.
    assert client.output(label, "stat -c %s big; echo x >other && cat other") == size + "x\n"
    assert not client.run(label, "rm big; touch stop").is_error
    done = ended(client, label, started)
    assert done.text.endswith("went on\n"), done


def test_packages_count_as_files_do(small, label):
    _, client = small
    started = client.run(label, "while [ ! -e stop ]; do head -c 4M /dev/zero >>/opt/package; done; echo went on", wait_seconds=60)
    assert "[cause disk]" in started.first_line, started
    assert not client.run(label, "rm /opt/package; touch stop").is_error
    assert ended(client, label, started).exit_code == 0


def test_what_nobody_changes_goes_from_a_workspace():
    with Stack({"FILE_TTL": "1", "CLEANUP_INTERVAL": "60"}) as stack, McpClient(stack.url, stack.key) as client:
        client.output("box", "mkdir -p folder/deep && echo 1 >folder/deep/file && ln -s /etc/passwd link && echo 2 >'na me'")
        client.run("box", "while sleep 0.2; do date >used; done", background=True)
        wait_for("all to go but what is written to", lambda: client.output("box", "ls -A") == "used\n", 90)
        assert client.output("box", "test -s /etc/passwd && echo there") == "there\n"
