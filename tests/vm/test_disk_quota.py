"""SANDBOX_DISK as the kernel holds it, where the file system of the engine's storage has project quotas."""

import pytest

MEBIBYTE = 1 << 20
SIZE = 24 * MEBIBYTE
NAMES = SIZE // 4096


def restart(host):
    host.run("systemctl restart sandkeep-agent && for _ in $(seq 300); do sandkeepctl info >/dev/null && exit; sleep 0.5; done; exit 1", 300)


@pytest.fixture(scope="module", autouse=True)
def limited(stack):
    stack.run(f"echo SANDBOX_DISK={SIZE} >>/etc/sandkeep/agent.env")
    restart(stack)
    yield
    stack.run("sed -i /^SANDBOX_DISK=/d /etc/sandkeep/agent.env")
    restart(stack)


def used(alice, label, *folders):
    """What the file system counts, in bytes."""
    return int(alice.output(label, f"du -scB1 {' '.join(folders)} 2>/dev/null | tail -n 1 | cut -f 1"))


def test_the_host_says_that_it_holds(host, alice, label):
    info = host.run("sandkeepctl info")
    assert any(line.split()[:2] == ["disk_quota", "yes:"] for line in info.splitlines()), info
    assert f"{SIZE} bytes" in host.run("journalctl --no-pager -o cat -u sandkeep-quota")
    assert int(alice.output(label, "df -B1 --output=size /workspace | tail -n 1")) <= SIZE


def test_who_writes_too_much_fails_at_once_and_is_told_what_to_do(alice, label):
    full = alice.run(label, "head -c 100M /dev/zero >big")
    assert full.exit_code != 0 and "Disk quota exceeded" in full.output, full
    assert "note: no room is left where it wrote" in full.text, full
    assert SIZE // 2 < used(alice, label, "/workspace") <= SIZE
    refused = alice.call("write_file", sandbox=label, path="more", content="x" * 500_000)
    assert refused.is_error, refused
    assert alice.run(label, "rm big && echo works >f && cat f").output == "works\n"


def test_files_and_packages_share_one_limit(alice, label):
    assert alice.run(label, "head -c 16M /dev/zero >/opt/package").exit_code == 0
    full = alice.run(label, "head -c 16M /dev/zero >/workspace/file")
    assert full.exit_code != 0 and "Disk quota exceeded" in full.output, full
    assert used(alice, label, "/workspace", "/opt") <= SIZE
    assert alice.run(label, "rm /opt/package && head -c 16M /dev/zero >/workspace/file").exit_code == 0
    assert "Disk quota exceeded" in alice.run(label, "head -c 16M /dev/zero >/opt/package").output


def test_so_many_names_and_no_more(alice, label):
    full = alice.run(label, f"mkdir n && cd n && for i in $(seq {NAMES + 1000}); do : >$i || exit 1; done", timeout_seconds=600)
    assert full.exit_code == 1 and "Disk quota exceeded" in full.output, full
    assert NAMES // 2 < int(alice.output(label, "ls n | wc -l")) <= NAMES
    assert alice.run(label, "rm -r n && echo works >f && cat f").output == "works\n"


def test_another_sandbox_and_the_next_one_have_all_of_theirs(host, alice, label):
    assert alice.run(label, "head -c 100M /dev/zero >big").exit_code != 0
    other = f"{label}-other"
    assert alice.run(other, "head -c 16M /dev/zero >big").exit_code == 0
    assert not alice.call("remove_sandbox", sandbox=label, files=True).is_error
    again = alice.run(label, "head -c 16M /dev/zero >big")
    assert again.exit_code == 0 and "[new]" in again.first_line, again
    host.run("for _ in $(seq 300); do [ -z \"$(ls /var/lib/sandkeep/containers/storage/volumes/.sandkeep-removed)\" ] && exit; sleep 0.2; done; "
             "exit 1", 120)
    alice.call("remove_sandbox", sandbox=other, files=True)


def test_a_rebuilt_one_is_held_as_before(alice, label):
    alice.output(label, "echo kept >f")
    assert not alice.call("remove_sandbox", sandbox=label).is_error
    full = alice.run(label, "head -c 100M /dev/zero >/opt/big")
    assert "[rebuilt]" in full.first_line and "Disk quota exceeded" in full.output, full
    assert used(alice, label, "/workspace", "/opt") <= SIZE
    assert alice.output(label, "rm /opt/big; cat f") == "kept\n"
