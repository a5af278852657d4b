"""A workspace's file system is full: the command fails by itself, is told what to do, and can do it."""

import pytest
from stack import podman


@pytest.fixture
def small_workspace(stack, alice, label):
    """A sandbox whose workspace is a file system of two megabytes; mounted where the engine looks, and only there."""
    before = set(stack.volumes())
    containers = set(stack.containers())
    alice.output(label, "true")
    (volume,) = set(stack.volumes()) - before
    (container,) = set(stack.containers()) - containers
    podman("rm", "-f", "-t", "0", container)
    data = podman("volume", "inspect", "--format", "{{.Mountpoint}}", volume).strip()
    podman("unshare", "sh", "-ec", 'owner=$(stat -c %u:%g "$1"); mount -t tmpfs -o size=2m,mode=0755 sandkeep-test "$1"; '
                                   'chown "$owner" "$1"', "_", data)
    yield label
    for name in set(stack.containers()) - containers:
        podman("rm", "-f", "-t", "0", name)
    podman("unshare", "umount", "-l", data)


@pytest.mark.parametrize("command", ["head -c 8M /dev/zero >big", "python3 -c 'open(\"big\", \"wb\").write(bytes(8 << 20))'",
                                     "mkdir d && cp -r /usr/bin d/"])
def test_a_full_workspace_is_the_commands_own_failure_and_says_what_to_do(alice, small_workspace, command):
    result = alice.run(small_workspace, command)
    assert result.exit_code not in (0, None) and not result.is_error, result
    assert "[cause disk]" in result.first_line or "note: no room is left where it wrote" in result.text, result
    assert alice.output(small_workspace, "rm -rf d big && echo on >f.txt && cat f.txt") == "on\n"
