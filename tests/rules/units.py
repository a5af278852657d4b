"""The units are ones that systemd takes, and expose no more than they promise.

Offline: the units are laid out in a root of their own, with stand-ins for the executables that they start.
"""

import pathlib
import shutil
import subprocess
import sys
import tempfile

# Least exposed is 0, most 10.
MOST_EXPOSED = {"sandkeep-gateway.service": 1.5, "sandkeep-agent.service": 4.8, "sandkeep-gc.service": 2.5,
                "sandkeep-netdeny.service": 2.0, "sandkeep-quota.service": 2.0}
# Without what older versions of systemd can't do for the agent.
MOST_EXPOSED_WITH_OLD_SYSTEMD = 6.8
NEWER = "newer-systemd.conf"
EXECUTABLES = ("usr/bin/sandkeep-gateway", "usr/bin/sandkeep-agent", "usr/bin/sandkeepctl", "usr/bin/install", "usr/bin/python3",
               "bin/bash", "bin/sh")
TARGETS = ("basic", "local-fs", "local-fs-pre", "multi-user", "network", "network-pre", "paths", "shutdown", "slices", "sockets",
           "swap", "sysinit", "time-set", "time-sync", "timers")
SYSTEM_UNITS = pathlib.Path("/usr/lib/systemd/system")


def lay_out(units, root):
    folder = root / "etc/systemd/system"
    folder.mkdir(parents=True)
    for path in units.iterdir():
        if path.suffix in (".service", ".slice", ".timer"):
            shutil.copy2(path, folder)
    for name in EXECUTABLES:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("#!/bin/sh\n")
        path.chmod(0o755)
    targets = root / "usr/lib/systemd/system"
    targets.mkdir(parents=True)
    for name in TARGETS:
        shutil.copy2(SYSTEM_UNITS / f"{name}.target", targets)
    return folder


def merged(unit, drop_in, folder):
    """One file as the service manager sees the two; `systemd-analyze security` reads no drop-ins of a file."""
    head, install, tail = unit.read_text().partition("[Install]")
    path = folder / unit.name
    path.write_text(f"{head}\n{drop_in.read_text()}\n{install}{tail}")
    return path


def complaints(*command):
    done = subprocess.run(["systemd-analyze", *map(str, command)], capture_output=True, text=True)
    lines = [line for line in done.stderr.splitlines() if line.strip()]
    if done.returncode != 0:
        lines += done.stdout.splitlines()[-1:] or [f"systemd-analyze ended with {done.returncode}"]
    return lines


def exposure(path, most):
    return [f"{path.name}: more than {most}: {line}"
            for line in complaints("security", "--offline=true", "--no-pager", f"--threshold={round(most * 10)}", path)]


def check(units):
    with tempfile.TemporaryDirectory() as scratch:
        root = pathlib.Path(scratch) / "root"
        folder = lay_out(units, root)
        names = sorted(path.name for path in folder.iterdir())
        yield from complaints("verify", f"--root={root}", "--man=no", "--recursive-errors=one", *names)
        yield from exposure(folder / "sandkeep-agent.service", MOST_EXPOSED_WITH_OLD_SYSTEMD)
        merged(folder / "sandkeep-agent.service", units / NEWER, folder)
        yield from complaints("verify", f"--root={root}", "--man=no", "--recursive-errors=one", *names)
        for name, most in MOST_EXPOSED.items():
            yield from exposure(folder / name, most)


if shutil.which("systemd-analyze") is None:
    sys.exit("systemd-analyze isn't installed: it is in the package systemd")
found = list(check(pathlib.Path(sys.argv[1]) / "deploy/systemd"))
print("\n".join(found))
sys.exit(bool(found))
