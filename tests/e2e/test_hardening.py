"""What the list of system calls closes is closed, and everything that people do in a sandbox still works."""

import pytest
from stack import wait_for

PROBE = r"""
import ctypes, errno, os, socket, sys
libc = ctypes.CDLL(None, use_errno=True)
def closed(name, call):
    try:
        result = call()
    except OSError as error:
        print(name, errno.errorcode[error.errno]); return
    print(name, "OPEN" if result >= 0 else errno.errorcode[ctypes.get_errno()])
def number(nr, *args):
    return lambda: libc.syscall(nr, *args)
closed("alg", lambda: socket.socket(38, socket.SOCK_SEQPACKET).fileno())
closed("vsock", lambda: socket.socket(40, socket.SOCK_STREAM).fileno())
closed("packet", lambda: socket.socket(17, socket.SOCK_RAW).fileno())
closed("unshare-user", number(272, 0x10000000))
closed("unshare-time", number(272, 0x80))
closed("clone-user", number(56, 0x10000000 | 17, 0, 0, 0, 0))
closed("clone3", number(435, 0, 0))
closed("setns", number(308, 0, 0))
closed("mount", number(165, b"none", b"/mnt", b"tmpfs", 0, 0))
closed("fsopen", number(430, b"tmpfs", 0))
closed("keyctl", number(250, 0, 0))
closed("add_key", number(248, b"user", b"a", b"b", 1, -3))
closed("io_setup", number(206, 1, ctypes.byref(ctypes.c_void_p())))
closed("io_uring", number(425, 1, ctypes.byref((ctypes.c_char * 256)())))
closed("bpf", number(321, 0, 0, 0))
closed("perf", number(298, 0, 0, -1, -1, 0))
closed("userfaultfd", number(323, 0))
closed("memfd_secret", number(447, 0))
for path in ("/etc/hosts", "/etc/hostname", "/etc/resolv.conf", "/run/.containerenv"):
    closed(path, lambda: os.open(path, os.O_WRONLY))
"""

USES = {
    "gcc": "echo 'int main(){return 42;}' >a.c && gcc a.c -o a && ./a; test $? = 42",
    "python": "python3 -c 'import multiprocessing, asyncio, ssl, sqlite3\nwith multiprocessing.Pool(2) as p: print(p.map(abs, [-1, -2]))'",
    "threads": "python3 -c 'import threading; [t.start() or t.join() for t in [threading.Thread(target=print, args=(i,)) for i in range(4)]]'",
    "venv": "python3 -m venv v && v/bin/python -c 'print(1)'",
    "node": "apt-get update -qq && apt-get install -y -qq --no-install-recommends nodejs npm >/dev/null && "
            "node -e 'const {Worker}=require(\"worker_threads\");new Worker(\"console.log(1)\",{eval:true})' && "
            "npm init -y >/dev/null && npm install is-odd --no-audit --no-fund",
    "pip": "pip install --quiet humanize && python3 -c 'import humanize'",
    "git": "git init -q g && cd g && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x && git log --oneline",
    "apt": "apt-get update -qq && apt-get install -y -qq bc >/dev/null && test $(echo 6*7 | bc) = 42",
    "redis": "apt-get update -qq && apt-get install -y -qq redis-server >/dev/null && redis-server --daemonize yes >/dev/null && "
             "for i in $(seq 50); do redis-cli ping 2>/dev/null | grep -q PONG && exit 0; sleep 0.1; done; exit 1",
    "ping": "apt-get update -qq && apt-get install -y -qq iputils-ping >/dev/null && ping -c1 -W2 127.0.0.1",
    "users": "useradd -m u && su u -c 'id -un' && chown u /workspace && chroot / true",
    "debugging": "apt-get update -qq && apt-get install -y -qq strace >/dev/null && strace -f -o /tmp/t true && grep -q exit_group /tmp/t",
}


def test_what_reaches_the_kernel_or_other_sandboxes_is_closed(alice, shared_label):
    output = alice.output(shared_label, f"cat >probe.py <<'P'\n{PROBE}\nP\npython3 probe.py")
    lines = dict(line.rsplit(" ", 1) for line in output.splitlines())
    assert len(lines) == 22, output
    assert not [name for name, result in lines.items() if result == "OPEN"], output
    assert {lines[name] for name in ("clone3", "io_uring", "unshare-user", "keyctl")} == {"ENOSYS"}, output


TAKE_INOTIFY = """
import ctypes, errno, time
libc = ctypes.CDLL(None, use_errno=True)
held = 0
while libc.inotify_init() >= 0:
    held += 1
print(held, errno.errorcode[ctypes.get_errno()], flush=True)
time.sleep(1000)
"""


def test_no_sandbox_uses_up_what_its_neighbours_watch_files_with(alice, label):
    """They share one user of the host, which may have so many; the kernel has a limit for each sandbox beside that."""
    of_host = int(open("/proc/sys/fs/inotify/max_user_instances").read())
    alice.output(label, "cat >take.py", stdin=TAKE_INOTIFY)
    limit = "cat /proc/sys/user/max_inotify_instances"
    wait_for("the limit to be set", lambda: int(alice.output(label, limit)) < of_host, 20)
    taking = alice.run(label, "exec python3 take.py", wait_seconds=2)
    held, why = taking.output.split()
    assert why == "EMFILE" and int(held) <= of_host // 2, taking
    assert alice.run(label + "-b", "python3 -c 'import ctypes; exit(ctypes.CDLL(None).inotify_init() < 0)'").exit_code == 0
    alice.call("stop_command", sandbox=label)


def test_the_numbers_of_another_architecture_end_who_uses_them(alice, shared_label):
    result = alice.run(shared_label, "python3 -c 'import ctypes; ctypes.CDLL(None).syscall(0x40000000 | 39)'")
    assert result.exit_code == 128 + 31, result


@pytest.mark.parametrize("use", USES)
def test_what_people_do_still_works(alice, shared_label, use):
    result = alice.run(shared_label, f"mkdir -p /workspace/{use} && cd /workspace/{use} && {USES[use]}", timeout_seconds=300,
                       wait_seconds=250)
    assert result.exit_code == 0, result
