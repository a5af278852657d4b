"""Root inside a sandbox must not reach PID 1, another sandbox or the host. Each attempt is made for real and must fail."""

import base64
import json
import os
import re
import subprocess

import pytest
from stack import BUILD, as_user

# Tries one thing against PID 1 by system call and prints what came of it.
ATTEMPT = r"""
import ctypes, json, os, sys
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *arguments):
    ctypes.set_errno(0)
    done = libc.syscall(number, *arguments)
    return "done" if done >= 0 else os.strerror(ctypes.get_errno())
limit = (ctypes.c_ulong * 2)(1, 1)
pidfd = libc.syscall(434, 1, 0)
print(json.dumps({
    "ptrace_attach": call(101, 16, 1, 0, 0),
    "ptrace_seize": call(101, 0x4206, 1, 0, 0),
    "prlimit_cpu": call(302, 1, 0, ctypes.byref(limit), None),
    "pidfd_getfd": [call(438, pidfd, fd, 0) for fd in range(16)],
    "process_vm_readv": call(310, 1, ctypes.byref(limit), 1, ctypes.byref(limit), 1, 0),
    "setns": call(308, pidfd, 0x20000000),
}))
"""

ATTACKS = """\
prlimit of init: EPERM
prlimit of init, dressed up: EPERM
ptrace: EPERM
pidfd_getfd: EPERM
pidfd_getfd: EPERM
setns: ENOSYS
process_vm_readv: EPERM
environ: EACCES
mem: EACCES
fd: EACCES
prlimit of oneself: ok
prlimit of oneself by number: ok
prlimit of the parent: ok
"""


def test_pid_1_cannot_be_reached_from_inside(alice, shared_label):
    alice.output(shared_label, f"cat >attempt.py <<'PY'\n{ATTEMPT}\nPY")
    tried = json.loads(alice.output(shared_label, "python3 attempt.py"))
    for name in ("ptrace_attach", "ptrace_seize", "prlimit_cpu", "process_vm_readv", "setns"):
        assert tried[name] != "done", (name, tried)
    assert "done" not in tried["pidfd_getfd"], tried


def test_every_attack_on_pid_1_ends_as_it_must_and_what_programs_need_goes_on(alice, label):
    """tests/testcases/attack_init as root of a real sandbox, each line as it must be."""
    program = base64.b64encode((BUILD / "tests" / "testcases" / "attack_init").read_bytes()).decode()
    alice.output(label, "base64 -d >/usr/local/bin/attack_init && chmod +x /usr/local/bin/attack_init", stdin=program)
    assert alice.output(label, "attack_init") == ATTACKS
    after = alice.run(label, "echo alive")
    assert after.output == "alive\n" and "[rebuilt]" not in after.first_line, after


@pytest.mark.parametrize("command", [
    "cat /proc/1/environ", "ls -l /proc/1/fd/", "cat /proc/1/maps", "head -c1 /proc/1/mem", "readlink /proc/1/exe",
    "ls /proc/1/root/", "nsenter -t 1 -m true", "ls /proc/1/cwd/",
])
def test_proc_1_tells_nothing(alice, shared_label, command):
    result = alice.run(shared_label, command)
    assert result.exit_code != 0, result


def test_kill_of_everything_leaves_the_sandbox_working(alice, label):
    alice.run(label, "kill -KILL 1; kill -STOP 1; kill -TERM 1; kill -SEGV 1; kill -KILL -1", timeout_seconds=20)
    result = alice.run(label, "echo alive")
    assert result.output == "alive\n" and "[rebuilt]" not in result.first_line, result


def test_no_descriptor_leads_out(alice, shared_label):
    listing = alice.output(shared_label, "ls -l /proc/self/fd | awk '/->/ {print $NF}'").split()
    assert listing and all(re.fullmatch(r"/dev/null|pipe:\[\d+\]|/proc/\d+/fd", target) for target in listing), listing


def test_nothing_of_the_host_is_mounted(alice, shared_label):
    mounts = alice.output(shared_label, "cut -d' ' -f5 /proc/self/mountinfo").split()
    allowed = ("/proc", "/sys", "/dev", "/workspace", "/etc/hosts", "/etc/hostname", "/etc/resolv.conf", "/run/.containerenv",
               "/usr/libexec/sandkeep-init")
    for mount in mounts:
        assert mount == "/" or mount.startswith(allowed), mounts


def test_the_init_binary_and_the_engines_files_cannot_be_written(alice, shared_label):
    init = alice.output(shared_label, "tr '\\0' '\\n' </proc/1/cmdline | head -1").strip()
    for path in (init, "/etc/hosts", "/etc/hostname", "/etc/resolv.conf", "/run/.containerenv"):
        result = alice.run(shared_label, f"echo x >>{path}")
        assert result.exit_code != 0, (path, result)


def test_capabilities_are_the_cut_set(alice, shared_label):
    bounding = alice.output(shared_label, "awk '/^CapBnd/ {print $2}' /proc/self/status").strip()
    names = {"CHOWN": 0, "DAC_OVERRIDE": 1, "FOWNER": 3, "FSETID": 4, "KILL": 5, "SETGID": 6, "SETUID": 7, "NET_BIND_SERVICE": 10,
             "SYS_CHROOT": 18}
    assert int(bounding, 16) == sum(1 << bit for bit in names.values())
    assert alice.output(shared_label, "awk '/^NoNewPrivs/ {print $2}' /proc/self/status") == "1\n"


def test_the_agents_uid_owns_nothing_inside(alice, shared_label):
    mapping = alice.output(shared_label, "cat /proc/self/uid_map").split()
    agent = subprocess.run(["id", "-u", "sandkeep"], capture_output=True, text=True, check=True).stdout.strip()
    assert mapping[0] == "0" and mapping[1] != agent and mapping[1] != "0"


def test_a_stranger_gets_nothing_from_the_agents_socket(stack):
    """As nobody even in the socket's group: closed before one byte is served."""
    probe = ("import socket,sys; s=socket.socket(socket.AF_UNIX); s.settimeout(5); s.connect(sys.argv[1]); "
             "s.sendall(b'PRI * HTTP/2.0\\r\\n\\r\\nSM\\r\\n\\r\\n'); print(len(s.recv(100)))")
    command = ["setpriv", "--reuid", "nobody", "--regid", "nogroup", "--groups", "sandkeep-api", "python3", "-c", probe,
               str(stack.socket)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30)
    assert done.stdout.strip() in ("", "0"), done
    assert done.stdout.strip() == "0" or "Reset" in done.stderr or "Broken pipe" in done.stderr, done


def test_the_gateways_user_has_no_way_to_the_engine(stack):
    done = subprocess.run(as_user("sandkeep-gw", {}, "ls", "/var/lib/sandkeep/containers/storage/volumes"), cwd="/",
                          capture_output=True, text=True, timeout=30)
    assert done.returncode != 0
    groups = subprocess.run(["id", "-Gn", "sandkeep-gw"], capture_output=True, text=True, check=True).stdout.split()
    assert set(groups) <= {"sandkeep-gw", "sandkeep-api"}
    assert not any(line.startswith("sandkeep-gw:") for line in open("/etc/subuid")), "no user namespace of its own"
    assert os.stat(stack.state / "agent").st_mode & 0o077 == 0
