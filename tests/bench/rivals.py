"""The servers that rows are measured against: each started on a port of its own, asked one request, ended."""

import contextlib
import json
import os
import pathlib
import subprocess
import sys
import urllib.request

from stack import ROOT, free_port, wait_for

HERE = pathlib.Path(__file__).parent
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "sandkeep"
FASTMCP = "4.1.6"
HEADERS = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}


class Rival:
    """A server that speaks 2025-11-25 with a session."""

    def __init__(self, command, environment=None):
        self.port = free_port()
        self.command = [*command, str(self.port)]
        self.environment = {**os.environ, **(environment or {})}

    def __enter__(self):
        self.process = subprocess.Popen(self.command, env=self.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            self.session = wait_for("the server to answer", self._begin, 60)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def _ask(self, message, headers):
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/mcp", json.dumps(message).encode(), {**HEADERS, **headers})
        with urllib.request.urlopen(request, timeout=30) as answer:
            answer.read()
            return answer.headers

    def _begin(self):
        if self.process.poll() is not None:
            raise RuntimeError(f"{self.command[0]} ended with {self.process.returncode}")
        about = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
        with contextlib.suppress(OSError):
            headers = self._ask({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": about}, {})
            session = {"Mcp-Session-Id": headers["Mcp-Session-Id"], "MCP-Protocol-Version": "2025-11-25"}
            self._ask({"jsonrpc": "2.0", "method": "notifications/initialized"}, session)
            return session
        return None


def typescript():
    """The official SDK's server, stateful, answering in JSON."""
    modules = ROOT / "tests" / "interop" / "node_modules"
    if not modules.exists():
        raise LookupError("tests/interop has no node_modules: run tests/run.sh interop once")
    return Rival(["node", str(ROOT / "tests" / "interop" / "rival.mjs")])


def fastmcp(container="", engine=()):
    """FastMCP, in an environment of its own that is made at first use. Its tool runs commands in the container by podman exec."""
    python = CACHE / f"fastmcp-{FASTMCP}" / "bin" / "python"
    if not python.exists() or subprocess.run([python, "-c", "import fastmcp"], capture_output=True).returncode != 0:
        subprocess.run([sys.executable, "-m", "venv", python.parents[1]], check=True)
        done = subprocess.run([python, "-m", "pip", "install", "-q", f"fastmcp=={FASTMCP}"], capture_output=True, text=True)
        if done.returncode != 0:
            raise LookupError(f"fastmcp=={FASTMCP} can't be installed: {done.stderr.strip().splitlines()[-1]}")
    return Rival([str(python), str(HERE / "fastmcp_server.py")], {"BENCH_CONTAINER": container, "BENCH_EXEC": json.dumps([*engine])})
