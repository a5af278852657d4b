"""The rows of the bench table. Each function measures both sides alternately and returns them."""

import concurrent.futures
import dataclasses
import json
import os
import pathlib
import re
import shutil
import socket
import statistics
import subprocess
import tempfile
import time

import mcp_client
import rivals
from stack import BUILD, ENGINE_RUN, Stack, as_user, podman, wait_for

PAIRS = 5
RATES = 3
LABEL = "bench"
CPUCLOCK_SCHED = 2  # of <linux/posix-timers.h>


@dataclasses.dataclass
class Measured:
    values: list
    unit: str
    bar: float
    reference: str = "-"
    reference_values: list = dataclasses.field(default_factory=list)
    bar_on_ratio: bool = False
    lower_is_better: bool = True
    # What else has to hold: the worst that was seen, the most there may be, and what it is.
    conditions: list = dataclasses.field(default_factory=list)
    # What else to know of the value.
    note: str = ""

    def bar_text(self):
        kind = "ratio " if self.bar_on_ratio else ""
        return f"{kind}{'<=' if self.lower_is_better else '>='} {self.bar:g}"

    def reason(self):
        said = [f"{what}: {worst:.1f} (at most {most:g})" for worst, most, what in self.conditions] + [self.note] * bool(self.note)
        return {"reason": "; ".join(said)} if said else {}


# --- tools ---------------------------------------------------------------------------------------

ANSWERED = '"result":'
# What a command that ended well is answered with, by us and by the rival.
RAN = "[exit 0]"


def wrk(stack, body, connections, seconds, path="/mcp", wanted=""):
    """(requests a second, p50 in ms) of one request repeated by wrk; every answer must be 200, and contain what is wanted."""
    return load(stack.port, {"Authorization": f"Bearer {stack.key}", "Accept": "application/json"}, body, connections, seconds,
                path, wanted)[:2]


def wrk_rival(rival, body, connections, seconds, wanted=""):
    """The same for a server that wants its session named. It keeps the calls of a session apart by their ids."""
    return load(rival.port, {**rivals.HEADERS, **rival.session}, body, connections, seconds, "/mcp", wanted, distinct=True)[:2]


def load(port, headers, body, connections, seconds, path, wanted="", distinct=False):
    """(requests a second, p50 in ms, p99 in ms)"""
    script = ['wrk.headers["%s"] = "%s"' % header for header in {"Content-Type": "application/json", **headers}.items()]
    if body is not None:
        script += ['wrk.method = "POST"', "wrk.body = [==[%s]==]" % body]
    if distinct:
        before, after = body.split('"id":1' if '"id":1' in body else '"id": 1', 1)
        script += ["local id = 0", "function request() id = id + 1 return wrk.format(nil, nil, nil, [==[%s\"id\":]==] .. id .. [==[%s]==]) end"
                   % (before, after)]
    if wanted:
        script += ["function response(status, headers, body) if status ~= 200 or not body:find([==[%s]==], 1, true) then wrk.thread:stop() "
                   "error(body) end end" % wanted]
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as file:
        file.write("\n".join(script))
        file.flush()
        done = subprocess.run(["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--timeout", "30s", "--latency", "-s", file.name,
                               f"http://127.0.0.1:{port}{path}"], capture_output=True, text=True, timeout=120)
    if done.returncode != 0 or "Socket errors" in done.stdout or "error" in done.stderr:
        raise RuntimeError(done.stdout + done.stderr)
    if body is not None and "Non-2xx" in done.stdout:
        raise RuntimeError(done.stdout)
    rate = float(re.search(r"Requests/sec:\s+([\d.]+)", done.stdout)[1])
    def percentile(which):
        number, unit = re.search(which + r"%\s+([\d.]+)(us|ms|s)", done.stdout).groups()
        return float(number) * {"us": 1e-3, "ms": 1.0, "s": 1e3}[unit]
    return rate, percentile("50"), percentile("99")


def call_body(tool, **arguments):
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}})


def client(stack):
    return mcp_client.McpClient(stack.url, stack.key)


def warm_up(stack):
    with client(stack) as mine:
        for _ in range(20):
            mine.output(LABEL, "true")


def resident_kb(pid):
    return int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text())[1])


def peak_mb_after(pid, action):
    """How far a process grew beyond what it had, while the action ran."""
    pathlib.Path(f"/proc/{pid}/clear_refs").write_text("5")
    before = resident_kb(pid)
    action()
    peak = int(re.search(r"VmHWM:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text())[1])
    return (peak - before) / 1024


def cpu_seconds(pid):
    """What all threads of a process used, by its own clock in the kernel: /proc counts in hundredths of a second."""
    return time.clock_gettime((~pid << 3) | CPUCLOCK_SCHED)


def cpu_percent(pids, seconds):
    """Of one processor, what each process used in a while that is left to it."""
    before, begun = [cpu_seconds(pid) for pid in pids], time.monotonic()
    time.sleep(seconds)
    took = time.monotonic() - begun
    return [100 * (cpu_seconds(pid) - was) / took for pid, was in zip(pids, before)]


def make_spawner(mine):
    source = (pathlib.Path(__file__).parent / "spawner.c").read_text()
    mine.output(LABEL, f"cat >spawner.c <<'C'\n{source}\nC\ngcc -O2 -static -o spawner spawner.c")


def spawn(mine, *arguments):
    """What spawner.c measures inside the sandbox."""
    return json.loads(mine.output(LABEL, " ".join(["./spawner", *map(str, arguments)])))


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
        make_spawner(mine)
        ours, bare = [], []
        for _ in range(PAIRS):
            ours.append(wrk(stack, call_body("run_command", sandbox=LABEL, command="true"), 1, 3, wanted=RAN)[1])
            bare.append(spawn(mine)["p50_us"] / 1000)
    return Measured(ours, "ms", 1.5, "bare spawn in the container", bare, bar_on_ratio=True)


def command_vs_podman_exec(stack):
    warm_up(stack)
    name = container_of(stack, LABEL)
    command = as_user("sandkeep", {"XDG_RUNTIME_DIR": ENGINE_RUN}, "podman", "exec", name, "/bin/bash", "-lc", "true")
    ours, theirs = [], []
    for _ in range(PAIRS):
        ours.append(wrk(stack, call_body("run_command", sandbox=LABEL, command="true"), 1, 2, wanted=RAN)[1])
        before = time.monotonic()
        subprocess.run(command, cwd="/", check=True, capture_output=True, timeout=60)
        theirs.append((time.monotonic() - before) * 1000)
    measured = Measured(theirs, "ms", 25, "our run_command (the value is podman exec)", ours, bar_on_ratio=True)
    measured.lower_is_better = False
    return measured


def output_rate(stack):
    """A gibibyte into the spool, and into nothing through a bare pipe."""
    warm_up(stack)
    ours, bare, growth = [], [], {"agent": [0.0], "gateway": [0.0]}
    with client(stack) as mine:
        def flood():
            before = time.monotonic()
            assert mine.run(LABEL, "head -c 1G /dev/zero").exit_code == 0
            ours.append(1 / (time.monotonic() - before))
        for _ in range(PAIRS):
            grown = peak_mb_after(stack.gateway.pid, lambda: growth["agent"].append(peak_mb_after(stack.agent.pid, flood)))
            growth["gateway"].append(grown)
            before = time.monotonic()
            subprocess.run("head -c 1G /dev/zero | cat >/dev/null", shell=True, check=True)
            bare.append(1 / (time.monotonic() - before))
    measured = Measured(ours, "GiB/s", 0.3, "a bare pipe on the host", bare, bar_on_ratio=True, lower_is_better=False)
    measured.conditions = [(max(grown), 16, f"MB that the {who} grew") for who, grown in growth.items()]
    return measured


def idle_200(stack):
    """Both processes, while 200 commands in four sandboxes sleep and each is waited for."""
    labels = [f"{LABEL}-idle-{number}" for number in range(4)]

    def wait_for_one(number):
        with client(stack) as mine:
            sandbox = labels[number % len(labels)]
            job = re.search(r"\[job (\w+)\]", mine.run(sandbox, "sleep 25", wait_seconds=0).first_line)[1]
            return mine.call("wait_command", sandbox=sandbox, job=job, wait_seconds=60)

    with client(stack) as mine:
        for sandbox in labels:
            mine.output(sandbox, "true")
    with concurrent.futures.ThreadPoolExecutor(200) as pool:
        waits = [pool.submit(wait_for_one, number) for number in range(200)]
        time.sleep(8)  # Until all sleep; they do so for long after the measurement.
        used = [max(cpu_percent([stack.agent.pid, stack.gateway.pid], 2)) for _ in range(PAIRS)]
        assert not any(wait.done() for wait in waits), "they slept meanwhile"
        assert all(wait.result().exit_code == 0 for wait in waits)
    return Measured(used, "% CPU", 5)


def beside(stack, command, measure):
    """What `measure` gives while the command runs in a sandbox of its own."""
    with client(stack) as mine:
        sandbox = f"{LABEL}-beside"
        mine.output(sandbox, "true")
        job = re.search(r"\[job (\w+)\]", mine.run(sandbox, command, wait_seconds=0, timeout_seconds=60).first_line)[1]
        try:
            return measure()
        finally:
            mine.call("stop_command", sandbox=sandbox, job=job, signal="KILL")


ONE_BYTE_WRITER = "while :; do printf x; done"


def one_byte_writer(stack):
    """What the agent uses for somebody who prints byte by byte as fast as they can."""
    warm_up(stack)
    used = [beside(stack, ONE_BYTE_WRITER, lambda: cpu_percent([stack.agent.pid], 3)[0]) for _ in range(PAIRS)]
    return Measured(used, "% CPU", 3)


def one_byte_neighbour(stack):
    """A command beside such a writer, and beside one that uses as much of a processor and prints nothing."""
    warm_up(stack)
    def neighbour():
        return wrk(stack, call_body("run_command", sandbox=LABEL, command="true"), 1, 2, wanted=RAN)[1]
    writer, silent = [], []
    for _ in range(PAIRS):
        writer.append(beside(stack, ONE_BYTE_WRITER, neighbour))
        silent.append(beside(stack, "while :; do :; done", neighbour))
    return Measured(writer, "ms", 1.25, "beside a silent one", silent, bar_on_ratio=True)


# --- the sandboxes' life -------------------------------------------------------------------------

def took_ms(action):
    before = time.monotonic()
    action()
    return (time.monotonic() - before) * 1000


def first_command(mine, label):
    result = mine.run(label, "true")
    assert result.exit_code == 0, result
    return result


def podman_run(number):
    """The same image to its first command, as an operator would start it; removed afterwards."""
    name = f"bench-reference-{os.getpid()}-{number}"
    took = took_ms(lambda: podman("run", "--name", name, "--pull=never", "--userns=nomap", "--network=slirp4netns",
                                  "--log-driver=none", "localhost/sandkeep-sandbox", "bash", "-lc", "true"))
    podman("rm", "-f", "-t", "0", name)
    return took


def capacity_of(stack):
    return json.loads(stack.ctl("--json", "info").stdout)["capacity"]


def cold(stack, prepare):
    ours, theirs = [], []
    with client(stack) as mine:
        for number in range(PAIRS):
            prepare(stack)
            ours.append(took_ms(lambda: first_command(mine, f"{LABEL}-cold-{number}")))
            theirs.append(podman_run(number))
    return ours, theirs


def cold_pool(_):
    """A new label, while a started container waits for it."""
    def filled(stack):
        wait_for("the pool", lambda: capacity_of(stack)["sandboxes_warm"] == 1)
    with Stack({"SANDBOX_WARM": "1", "SANDBOX_MAX": "20"}) as stack:
        ours, theirs = cold(stack, filled)
    return Measured(ours, "ms", 25, "podman run", theirs)


def cold_run(_):
    with Stack({"SANDBOX_MAX": "20"}) as stack:
        ours, theirs = cold(stack, lambda stack: None)
    return Measured(ours, "ms", 1.3, "podman run", theirs, bar_on_ratio=True)


def sandbox_row(stack, label):
    return next(row for row in json.loads(stack.ctl("--json", "ls").stdout)["sandboxes"] if row["label"] == label)


def thaw(stack):
    """The first command after a freeze; minus what a warm one takes."""
    warm_up(stack)
    woken, warm = [], []
    principal = sandbox_row(stack, LABEL)["principal"]
    with client(stack) as mine:
        for _ in range(2 * PAIRS):
            stack.ctl("freeze", principal, LABEL)
            woken.append(took_ms(lambda: first_command(mine, LABEL)))
            warm.append(took_ms(lambda: first_command(mine, LABEL)))
    return Measured([one - other for one, other in zip(woken, warm)], "ms", 10)


def stopped(stack):
    """The first command in a stopped sandbox, and what the engine takes to start the same container."""
    ours, theirs = [], []
    label = f"{LABEL}-stopped"
    with client(stack) as mine:
        first_command(mine, label)
        name = container_of(stack, label)

        def stop():
            podman("kill", name)
            wait_for("it to be stopped", lambda: sandbox_row(stack, label)["state"] == "STOPPED")
        for _ in range(PAIRS):
            stop()
            ours.append(took_ms(lambda: first_command(mine, label)))
        stop()
        for _ in range(PAIRS):
            theirs.append(took_ms(lambda: podman("start", name)))
            podman("kill", name)
    return Measured(ours, "ms", 1.3, "podman start", theirs, bar_on_ratio=True)


def known_500(_):
    """The agent at rest: what 500 known sandboxes cost it beside five that run, and how much longer listing them takes
    than an answer about the agent alone, by the same program."""
    settings = {"SANDBOX_MAX": "5", "SANDBOX_RECYCLE": "remove", "SANDBOX_IDLE": "3600"}
    with Stack(settings) as stack, client(stack) as mine:
        def at_rest():
            for number in range(5):
                first_command(mine, f"known-{number}")
            time.sleep(3)
            return resident_kb(stack.agent.pid) / 1024
        few = at_rest()
        for number in range(5, 500):
            first_command(mine, f"known-{number}")
        stack.stop_agent()
        stack.start_agent()
        growth = at_rest() - few
        cpu = cpu_percent([stack.agent.pid], 30)[0]
        listing = min(took_ms(lambda: stack.ctl("--json", "ls")) - took_ms(lambda: stack.ctl("--json", "info"))
                      for _ in range(PAIRS))
    measured = Measured([growth], "MB", 10)
    measured.conditions = [(cpu, 0.1, "% CPU"), (listing, 5, "ms to list them")]
    return measured


# --- the gateway ---------------------------------------------------------------------------------

TOOLS_LIST = '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}'
PING = '{"jsonrpc":"2.0","id":1,"method":"ping"}'


def rate_beside(stack, rival, body, their_body, wanted=ANSWERED):
    """Requests a second at 16 connections, ours and theirs in turn. Looking at each answer would slow down the faster one: one
    connection's are looked at before."""
    ours, theirs = [], []
    with rival:
        wrk(stack, body, 1, 1, wanted=wanted)
        wrk_rival(rival, their_body, 1, 1, ANSWERED)
        for _ in range(RATES):
            ours.append(wrk(stack, body, 16, 3)[0])
            theirs.append(wrk_rival(rival, their_body, 16, 3)[0])
    return ours, theirs


def tools_list_rps(stack):
    """Ours lists more and longer tools."""
    ours, theirs = rate_beside(stack, rivals.typescript(), TOOLS_LIST, TOOLS_LIST)
    measured = Measured(ours, "/s", 10, "the TypeScript SDK's server", theirs, bar_on_ratio=True, lower_is_better=False)
    # Ten thousand a second at least, whatever the other does.
    measured.conditions = [(1e6 / statistics.median(ours), 100, "microseconds a request")]
    return measured


def tools_list_rps_fastmcp(stack):
    ours, theirs = rate_beside(stack, rivals.fastmcp(), TOOLS_LIST, TOOLS_LIST)
    return Measured(ours, "/s", 40, f"FastMCP {rivals.FASTMCP}", theirs, bar_on_ratio=True, lower_is_better=False)


def tool_rps(stack):
    """A tool that asks the agent one thing, against one that asks nobody."""
    warm_up(stack)
    with client(stack) as mine:
        job = re.search(r"\[job (\w+)\]", mine.run(LABEL, "sleep 0.2", wait_seconds=0).first_line)[1]
        mine.call("wait_command", sandbox=LABEL, job=job)
    body = call_body("read_output", sandbox=LABEL, job=job)
    ours, theirs = rate_beside(stack, rivals.typescript(), body, call_body("about"), RAN)
    measured = Measured(ours, "/s", 4, "the TypeScript SDK's server", theirs, bar_on_ratio=True, lower_is_better=False)
    headers = {"Authorization": f"Bearer {stack.key}"}
    slowest = load(stack.port, headers, body, 64, 3, "/mcp")[2]
    measured.conditions = [(slowest, 5, "ms at p99 with 64 connections")]
    measured.note = least_of_a_tool(*load(stack.port, headers, PING, 64, 3, "/mcp"))
    return measured


def least_of(program, at_once, seconds):
    """What tests/bench's program of this name measured of processes that do nothing else."""
    done = subprocess.run([BUILD / "tests" / "bench" / program, str(at_once), str(seconds)], check=True, capture_output=True, text=True,
                          timeout=60)
    return json.loads(done.stdout)


def least_of_a_tool(ping_rate, _, ping_slowest):
    """What a call with 64 connections is made of at least here: the gateway's part of a ping, and gRPC between two processes that do
    nothing else. Both use all processors, so that their times add up; how their slowest do, nobody knows."""
    bare = least_of("floor", 64, 3)
    both = 1 / (1 / ping_rate + 1 / bare["calls_a_second"])
    return (f"the least here with 64: a ping {ping_rate:.0f}/s, p99 {ping_slowest:.1f} ms; bare gRPC {bare['calls_a_second']:.0f}/s, p99 "
            f"{bare['p99_ms']:.1f} ms; one behind the other {both:.0f}/s")


def command_vs_fastmcp(stack, connections):
    """One container, one command: by us, and by a FastMCP tool that runs podman exec."""
    warm_up(stack)
    engine = as_user("sandkeep", {"XDG_RUNTIME_DIR": ENGINE_RUN}, "podman", "exec")
    ours, theirs = [], []
    with rivals.fastmcp(container_of(stack, LABEL), engine) as rival:
        for _ in range(RATES):
            ours.append(wrk(stack, call_body("run_command", sandbox=LABEL, command="true"), connections, 3, wanted=RAN)[1])
            theirs.append(wrk_rival(rival, call_body("run_command", command="true"), connections, 6, RAN)[1])
    # The bar is how many times faster we are.
    measured = Measured(theirs, "ms", 25, "our run_command (the value is FastMCP with podman exec)", ours, bar_on_ratio=True)
    measured.lower_is_better = False
    return measured


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

def rss_gateway(_stack):
    """At rest, after some commands: one that hasn't served the other rows."""
    with Stack() as quiet:
        warm_up(quiet)
        ours = resident_kb(quiet.gateway.pid) / 1024
    with rivals.typescript() as rival:
        wrk_rival(rival, TOOLS_LIST, 1, 1, ANSWERED)
        return Measured([ours], "MB", 25, "the TypeScript SDK's server", [resident_kb(rival.process.pid) / 1024])


def rss_streams(_stack):
    """The gateway while a thousand clients watch a silent command: one that has done nothing else."""
    with Stack() as quiet:
        return rss_streams_of(quiet)


def rss_streams_of(stack):
    with client(stack) as mine:
        mine.output(LABEL, "true")
        job = re.search(r"\[job (\w+)\]", mine.run(LABEL, "sleep 120", wait_seconds=0).first_line)[1]
    body = call_body("wait_command", sandbox=LABEL, job=job, wait_seconds=100).encode()
    head = (f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{stack.port}\r\nAuthorization: Bearer {stack.key}\r\n"
            f"Content-Type: application/json\r\nAccept: text/event-stream\r\nContent-Length: {len(body)}\r\n\r\n").encode()
    streams = []
    try:
        for _ in range(1000):
            streams.append(socket.create_connection(("127.0.0.1", stack.port), timeout=60))
            streams[-1].sendall(head + body)
        for stream in streams:
            assert b"200 OK" in stream.recv(4096), "every one must be a stream"
        return Measured([resident_kb(stack.gateway.pid) / 1024], "MB", 64)
    finally:
        for stream in streams:
            stream.close()
        with client(stack) as mine:
            mine.call("stop_command", sandbox=LABEL, job=job, signal="KILL")


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
    "output-rate": output_rate,
    "idle-200": idle_200,
    "one-byte-writer": one_byte_writer,
    "one-byte-neighbour": one_byte_neighbour,
    "cold-pool": cold_pool,
    "cold-run": cold_run,
    "thaw": thaw,
    "stopped": stopped,
    "known-500": known_500,
    "tools-list-rps": tools_list_rps,
    "tools-list-rps-fastmcp": tools_list_rps_fastmcp,
    "tool-rps": tool_rps,
    "command-vs-fastmcp": lambda stack: command_vs_fastmcp(stack, 1),
    "command-vs-fastmcp-16": lambda stack: command_vs_fastmcp(stack, 16),
    "hop-cost": hop_cost,
    "rss-gateway": rss_gateway,
    "rss-streams": rss_streams,
    "rss-agent": rss_agent,
    "rss-init": rss_init,
    "start-gateway": start_gateway,
}
