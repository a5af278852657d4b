"""An emulated host: boots the cached disk with this build beside it, and runs Sandkeep in it as system units.

What the suites need of it is the same as of tests/e2e's Stack (url, key, key2), and `run`: root's commands inside. Everything
binds the loopback or a socket in a folder of its own; nothing that the guest writes is kept. Emulation is ten times slower than
the machine itself, so whoever waits waits for an event, with a deadline that only a host that hangs reaches.
"""

import contextlib
import json
import os
import pathlib
import platform
import re
import shutil
import socket
import subprocess
import tempfile
import time

from stack import BUILD, EXECUTABLES, ROOT, free_port, wait_for

HERE = pathlib.Path(__file__).resolve().parent
TESTCASES = BUILD / "tests" / "testcases"
# Of the emulated host. What was built here runs in a newer one, too, if this machine's libraries come along.
RELEASE = os.environ.get("VM_RELEASE", "trixie")
OWN_RELEASE = platform.freedesktop_os_release()["VERSION_CODENAME"]
# They belong to the loader, which is the guest's.
LIBRARIES_OF_THE_GUEST = ("ld-linux", "libc.so", "libm.so", "libdl.so", "librt.so", "libpthread.so", "libresolv.so")
GUEST_LIBRARIES = "/opt/sandkeep/lib"
EMULATOR_SECONDS = 30
BOOT_SECONDS = 600
START_SECONDS = 300
COMMAND_SECONDS = 120
MEMORY_MIB = 3072
# VM_ENFORCING=0: what the policy denies is done, and said.
SELINUX = f"security=selinux selinux=1 enforcing={os.environ.get('VM_ENFORCING', '1')}"

AGENT_ENV = {"SANDBOX_MEMORY": "128m", "SANDBOX_CPUS": "1", "SANDBOX_PIDS": "64", "SANDBOX_MIN_FREE": "256m", "SANDBOX_MAX": "8",
             "SANDBOX_SHM": "16m"}
# The emulator forwards a port of the machine's loopback to the guest's one address.
GATEWAY_ENV = {"SANDBOX_HOST": "0.0.0.0", "SANDBOX_PORT": "8000", "REQUEST_RATE": "0"}


class Hand:
    """Root's commands inside the guest, by its serial port."""

    def __init__(self, path, alive):
        self.socket = socket.socket(socket.AF_UNIX)
        wait_for("the emulator", lambda: alive() and self._connects(str(path)), EMULATOR_SECONDS)
        self.alive = alive
        self.rest = b""

    def _connects(self, path):
        # It is there before it listens.
        with contextlib.suppress(FileNotFoundError, ConnectionRefusedError):
            self.socket.connect(path)
            return True

    def line(self, seconds):
        deadline = time.monotonic() + seconds
        self.socket.settimeout(1)
        while b"\n" not in self.rest:
            if not self.alive():
                raise RuntimeError("the emulator has ended")
            if time.monotonic() > deadline:
                raise TimeoutError(f"the emulated host is silent for {seconds} s")
            try:
                self.rest += self.socket.recv(65536)
            except TimeoutError:
                continue
        line, _, self.rest = self.rest.partition(b"\n")
        return json.loads(line)

    def ask(self, command, seconds):
        request = {"command": command, "seconds": seconds}
        self.socket.sendall(json.dumps(request).encode() + b"\n")
        return self.line(seconds + 30)


class EmulatedHost:
    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="sandkeep-vm.", dir="/var/tmp"))
        self.port = free_port()
        self.emulator = None
        self.hand = None
        self.key = self.key2 = None

    def __enter__(self):
        try:
            self._boot(self._disk(), self._parts())
            self._start()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(self, *_):
        if self.emulator is not None and self.emulator.poll() is None:
            self.emulator.terminate()
            self.emulator.wait(timeout=30)
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}/mcp"

    # --- its parts ---

    @staticmethod
    def _disk():
        done = subprocess.run([HERE / "build_disk.sh", BUILD], stdout=subprocess.PIPE, text=True, check=True)
        return pathlib.Path(done.stdout.strip())

    def _parts(self):
        """The second disk: this build, the units and the settings."""
        parts = self.folder / "parts"
        (parts / "bin").mkdir(parents=True)
        for name, path in EXECUTABLES.items():
            shutil.copy2(BUILD / path, parts / "bin" / name)
        if RELEASE != OWN_RELEASE:
            self._take_libraries_along(parts)
        shutil.copytree(ROOT / "deploy", parts / "deploy")
        shutil.copy2(HERE / "start.sh", parts / "start.sh")
        (parts / "env").mkdir()
        for name, settings in (("agent", AGENT_ENV), ("gateway", GATEWAY_ENV)):
            lines = (f"{key}={value}\n" for key, value in settings.items())
            (parts / "env" / f"{name}.env").write_text("".join(lines))
        self._label(parts)
        image = self.folder / "parts.img"
        subprocess.run(["mke2fs", "-q", "-t", "ext4", "-d", parts, image, "256M"], stdout=subprocess.DEVNULL, check=True)
        return image

    @staticmethod
    def _take_libraries_along(parts):
        (parts / "lib").mkdir()
        for program in (parts / "bin").iterdir():
            done = subprocess.run(["ldd", program], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
            found = re.findall(r"^\s*(\S+) => (/\S+)", done.stdout, re.MULTILINE)
            for name, path in found:
                if not name.startswith(LIBRARIES_OF_THE_GUEST):
                    shutil.copy2(path, parts / "lib" / name)
            if found:  # It isn't static.
                subprocess.run(["patchelf", "--force-rpath", "--set-rpath", GUEST_LIBRARIES, program], check=True)

    @staticmethod
    def _label(parts):
        """SELinux's types, kept by the file system that is made of the folder."""
        for path in (parts, *parts.rglob("*")):
            kind = "lib_t" if "lib" in path.relative_to(parts).parts[:1] else "usr_t"
            os.setxattr(path, "security.selinux", f"system_u:object_r:{kind}:s0\0".encode())

    # --- life ---

    def _boot(self, disk, parts):
        hand = self.folder / "hand.sock"
        command = [
            "qemu-system-x86_64", "-accel", "tcg,thread=multi", "-cpu", "max", "-smp", "2",
            "-m", str(MEMORY_MIB), "-nodefaults", "-display", "none", "-qmp", f"unix:{self.folder / 'qmp.sock'},server=on,wait=off",
            "-kernel", disk / "vmlinuz", "-initrd", disk / "initrd",
            # On a busy machine the emulated timer is late, and a kernel that checks it gives up.
            "-append", "root=/dev/vda rw rootflags=prjquota console=ttyS0 quiet panic=-1 no_timer_check systemd.unified_cgroup_hierarchy=1 " + SELINUX,
            "-drive", f"file={disk / 'disk.img'},format=raw,if=virtio,snapshot=on",
            "-drive", f"file={parts},format=raw,if=virtio,readonly=on",
            "-netdev", f"user,id=net,restrict=on,hostfwd=tcp:127.0.0.1:{self.port}-:8000", "-device", "virtio-net-pci,netdev=net",
            "-serial", f"file:{self.folder / 'console.log'}", "-device", "virtio-serial-pci",
            "-chardev", f"socket,id=hand,path={hand},server=on,wait=off", "-device", "virtserialport,chardev=hand,name=hand",
            "-device", "virtio-rng-pci",
        ]
        log = open(self.folder / "emulator.log", "wb")
        with log:
            # Its copy of what the guest writes stays beside the rest.
            self.emulator = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                             env={**os.environ, "TMPDIR": str(self.folder)})
        try:
            self.hand = Hand(hand, lambda: self.emulator.poll() is None)
            assert self.hand.line(BOOT_SECONDS) == {"up": True}
        except (RuntimeError, TimeoutError) as error:
            raise RuntimeError(f"{error}\n{self.log('console')}\n{self.log('emulator')}") from None

    def _start(self):
        self.run("mkdir -p /opt/sandkeep && echo '/dev/vdb /opt/sandkeep ext4 ro 0 0' >>/etc/fstab && "
                 "systemctl daemon-reload && mount /opt/sandkeep")
        try:
            keys = dict(line.split() for line in self.run("/opt/sandkeep/start.sh", START_SECONDS).splitlines())
        except RuntimeError as error:
            raise RuntimeError(f"{error}\n{self.journal()}") from None
        self.key, self.key2 = keys["alice"], keys["bob"]
        self._wait_until_it_serves()

    # --- death ---

    def reboot(self):
        """As an operator does it."""
        self.run("systemctl reboot --no-block")
        self._come_back()

    def cut_power(self):
        """Nothing that the guest still held in its memory is written."""
        with socket.socket(socket.AF_UNIX) as monitor:
            monitor.connect(str(self.folder / "qmp.sock"))
            for command in ("qmp_capabilities", "system_reset"):
                monitor.sendall(json.dumps({"execute": command}).encode() + b"\n")
            monitor.settimeout(EMULATOR_SECONDS)
            while b'"RESET"' not in monitor.recv(65536):
                pass
        self._come_back()

    def _come_back(self):
        assert self.hand.line(BOOT_SECONDS) == {"up": True}
        self._wait_until_it_serves()

    def _wait_until_it_serves(self):
        self.run("for _ in $(seq 300); do systemctl is-active -q sandkeep-agent sandkeep-gateway && sandkeepctl info >/dev/null && exit; "
                 "sleep 0.5; done; exit 1", START_SECONDS)

    def log(self, name):
        path = self.folder / f"{name}.log"
        return path.read_text(errors="replace")[-4000:] if path.exists() else ""

    # --- inside ---

    def ask(self, command, seconds=COMMAND_SECONDS):
        """Exit code and output of root's command."""
        answer = self.hand.ask(command, seconds)
        return answer["code"], answer["output"]

    def run(self, command, seconds=COMMAND_SECONDS):
        """The output of a command that must succeed."""
        code, output = self.ask(command, seconds)
        if code != 0:
            raise RuntimeError(f"{command!r} ended with {code}:\n{output}")
        return output

    def journal(self, unit="sandkeep-*"):
        return self.ask(f"journalctl --no-pager -o cat -u '{unit}' | tail -n 60")[1]
