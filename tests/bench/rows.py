"""The rows of the bench table. Each function measures both sides alternately and returns them."""

import dataclasses
import os
import pathlib
import re
import socket
import subprocess
import tempfile
import time

import mcp_client
from stack import ENGINE_RUN, Stack, as_user, podman

PAIRS = 5
RATES = 3
LABEL = "bench"
# Spawns a login shell bare, N times, and prints the median in microseconds.
SPAWNER = r"""
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
extern char** environ;
static int order(const void* a, const void* b) { double d = *(double*)a - *(double*)b; return (d > 0) - (d < 0); }
int main(void) {
  enum { N = 200 };
  static double took[N];
  char* argv[] = {"bash", "-lc", "true", NULL};
  for (int i = 0; i < N; i++) {
    struct timespec a, b;
    pid_t pid;
    clock_gettime(CLOCK_MONOTONIC, &a);
    if (posix_spawn(&pid, "/bin/bash", NULL, NULL, argv, environ) != 0) return 1;
    waitpid(pid, NULL, 0);
    clock_gettime(CLOCK_MONOTONIC, &b);
    took[i] = (b.tv_sec - a.tv_sec) * 1e6 + (b.tv_nsec - a.tv_nsec) / 1e3;
  }
  qsort(took, N, sizeof took[0], order);
  printf("%.1f\n", took[N / 2]);
}
"""


@dataclasses.dataclass
class Measured:
    values: list
    unit: str
    bar: float
    reference: str = "-"
    reference_values: list = dataclasses.field(default_factory=list)
    bar_on_ratio: bool = False
    lower_is_better: bool = True

    def bar_text(self):
        kind = "ratio " if self.bar_on_ratio else ""
        return f"{kind}{'<=' if self.lower_is_better else '>='} {self.bar:g}"


# --- tools ---------------------------------------------------------------------------------------

def wrk(stack, body, connections, seconds, path="/mcp"):
    """(requests a second, p50 in ms) of one request repeated by wrk; every answer must be a success."""
    script = ['wrk.headers["Authorization"] = "Bearer %s"' % stack.key,
              'wrk.headers["Content-Type"] = "application/json"', 'wrk.headers["Accept"] = "application/json"']
    if body is not None:
        script += ['wrk.method = "POST"', "wrk.body = [==[%s]==]" % body]
        script += ["function response(status, headers, body) if status ~= 200 or body:find('isError\":true', 1, true) then wrk.thread:stop() "
                   "error(body) end end"] if connections == 1 else []
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as file:
        file.write("\n".join(script))
        file.flush()
        done = subprocess.run(["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--latency", "-s", file.name,
                               f"http://127.0.0.1:{stack.port}{path}"], capture_output=True, text=True, timeout=120)
    if done.returncode != 0 or "Socket errors" in done.stdout:
        raise RuntimeError(done.stdout + done.stderr)
    if body is not None and "Non-2xx" in done.stdout:
        raise RuntimeError(done.stdout)
    rate = float(re.search(r"Requests/sec:\s+([\d.]+)", done.stdout)[1])
    number, unit = re.search(r"50%\s+([\d.]+)(us|ms|s)", done.stdout).groups()
    return rate, float(number) * {"us": 1e-3, "ms": 1.0, "s": 1e3}[unit]


def call_body(tool, **arguments):
    import json
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}})


def client(stack):
    return mcp_client.McpClient(stack.url, stack.key)


def warm_up(stack):
    with client(stack) as mine:
        for _ in range(20):
            mine.output(LABEL, "true")


def resident_kb(pid):
    return int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text())[1])


def container_of(stack, label):
    """The engine's name of a sandbox's container, by its host name."""
    with client(stack) as mine:
        hostname = mine.output(label, "hostname").strip()
    for name in stack.containers():
        if podman("inspect", "--format", "{{.Config.Hostname}}", name).strip() == hostname:
            return name
    raise LookupError(f"no container with the host name {hostname}")


# --- commands ------------------------------------------------------------------------------------

def command_vs_spawn(stack):
    warm_up(stack)
    with client(stack) as mine:
        mine.output(LABEL, f"cat >spawner.c <<'C'\n{SPAWNER}\nC\ngcc -O2 -static -o spawner spawner.c")
        ours, bare = [], []
        for _ in range(PAIRS):
            ours.append(wrk(stack, call_body("run_command", sandbox=LABEL, command="true"), 1, 3)[1])
            bare.append(float(mine.output(LABEL, "./spawner")) / 1000)
    return Measured(ours, "ms", 1.5, "bare spawn in the container", bare, bar_on_ratio=True)


def command_vs_podman_exec(stack):
    warm_up(stack)
    name = container_of(stack, LABEL)
    command = as_user("sandkeep", {"XDG_RUNTIME_DIR": ENGINE_RUN}, "podman", "exec", name, "/bin/bash", "-lc", "true")
    ours, theirs = [], []
    for _ in range(PAIRS):
        ours.append(wrk(stack, call_body("run_command", sandbox=LABEL, command="true"), 1, 2)[1])
        before = time.monotonic()
        subprocess.run(command, cwd="/", check=True, capture_output=True, timeout=60)
        theirs.append((time.monotonic() - before) * 1000)
    measured = Measured(theirs, "ms", 25, "our run_command (the value is podman exec)", ours, bar_on_ratio=True)
    measured.lower_is_better = False
    return measured


# --- the gateway ---------------------------------------------------------------------------------

def tools_list_rps(stack):
    body = '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}'
    rates = [wrk(stack, body, 16, 3)[0] for _ in range(RATES)]
    return Measured(rates, "/s", 10_000, lower_is_better=False)


def hop_cost(stack):
    """Two requests that end in the same 404: the first asks the agent about the sandbox, the second needs not."""
    with client(stack) as mine:
        mine.output(LABEL, "echo x >f.txt")
        text = mine.call("present_file", sandbox=LABEL, path="f.txt").text
    link = re.search(r"/dl/\S+?/f\.txt", text)[0]
    expiry, signature, key = link.split("/")[2:5]
    wrong = signature[:-2] + ("AA" if signature[-2:] != "AA" else "BA")
    with_hop, without = [], []
    for _ in range(PAIRS):
        with_hop.append(wrk(stack, None, 1, 2, f"/dl/{expiry}/{wrong}/{key}/f.txt")[1])
        without.append(wrk(stack, None, 1, 2, f"/dl/{expiry}/{signature[:-2]}/{key}/f.txt")[1])
    costs = [a - b for a, b in zip(with_hop, without)]
    return Measured(costs, "ms", 0.25)


def start_gateway(stack):
    """From exec to READY=1, on a stack of its own port so that the running one stays."""
    times = []
    for _ in range(PAIRS):
        stack.stop_gateway()
        with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
            path = os.path.join(folder, "notify")
            listener.bind(path)
            os.chmod(folder, 0o755)
            os.chmod(path, 0o777)
            listener.settimeout(20)
            before = time.monotonic()
            stack.start_gateway(wait=False, NOTIFY_SOCKET=path)
            while b"READY=1" not in listener.recv(4096):
                pass
            times.append((time.monotonic() - before) * 1000)
    return Measured(times, "ms", 200)


# --- memory --------------------------------------------------------------------------------------

def rss_gateway(stack):
    warm_up(stack)
    return Measured([resident_kb(stack.gateway.pid) / 1024], "MB", 25)


def rss_agent(stack):
    """At rest with five sandboxes: in an agent of its own, since the other rows run thousands of commands."""
    with Stack() as quiet:
        with client(quiet) as mine:
            for number in range(5):
                mine.output(f"{LABEL}-{number}", "true")
        return Measured([resident_kb(quiet.agent.pid) / 1024], "MB", 30)


def rss_init(stack):
    warm_up(stack)
    pid = int(podman("inspect", "--format", "{{.State.Pid}}", container_of(stack, LABEL)))
    return Measured([resident_kb(pid) / 1024], "MB", 2)


ALL = {
    "command-vs-spawn": command_vs_spawn,
    "command-vs-podman-exec": command_vs_podman_exec,
    "tools-list-rps": tools_list_rps,
    "hop-cost": hop_cost,
    "rss-gateway": rss_gateway,
    "rss-agent": rss_agent,
    "rss-init": rss_init,
    "start-gateway": start_gateway,
}
