"""Processes are started in two places only, and the gateway can start none at all."""

import pathlib
import re
import subprocess
import sys

STARTS = re.compile(r"\b(fork|vfork|posix_spawnp?|execv[pe]*|execl[pe]?|execveat|fexecve|system|popen)\s*\(|\bclone3?\s*\(|SYS_clone")
ALLOWED = ("agent/runtime/", "agent/init/", "tests/")
# What the gateway's own objects may not even refer to.
SYMBOLS = {"fork", "vfork", "posix_spawn", "posix_spawnp", "execve", "execv", "execvp", "execl", "execlp", "execle", "execvpe",
           "execveat", "fexecve", "system", "popen", "clone"}


def uses(root):
    for folder in ("common", "agent", "gateway"):
        for path in sorted((root / folder).rglob("*")):
            name = str(path.relative_to(root))
            if path.suffix not in (".h", ".cc") or name.startswith(ALLOWED):
                continue
            for number, line in enumerate(path.read_text().splitlines(), 1):
                code = re.sub(r'"(\\.|[^"\\])*"', '""', line.split("//")[0])
                if STARTS.search(code):
                    yield f"{name}:{number}: starts a process: {line.strip()}"


def gateway_symbols(build):
    program = build / "gateway" / "sandkeep-gateway"
    if not program.exists():
        return [f"{program} isn't built"]
    listing = subprocess.run(["nm", "-D", "-u", program], capture_output=True, text=True, check=True).stdout
    names = {line.split()[-1].split("@")[0] for line in listing.splitlines() if line.strip()}
    return [f"sandkeep-gateway refers to {name}" for name in sorted(names & SYMBOLS)]


root, build = map(pathlib.Path, sys.argv[1:3])
found = [*uses(root), *gateway_symbols(build)]
print("\n".join(found))
sys.exit(bool(found))
