"""What a command costs beyond its shell: the agent's part alone, its client next to it, as the gateway's user."""

import dataclasses
import os
import pathlib
import resource
import shutil
import statistics
import subprocess

from rows import LABEL, PAIRS, Measured, client, container_of, cpu_seconds, least_of, make_spawner, spawn, warm_up
from stack import BUILD, as_user, podman

STREAM_SECONDS = 2


def below_seconds(pid):
    """Of the processors, what the children of init used, and theirs: those that live and those that ended."""
    def fields(one):
        return [int(field) for field in pathlib.Path(f"/proc/{one}/stat").read_text().rsplit(")", 1)[1].split()[11:15]]

    ticks = sum(fields(pid)[2:])
    for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        try:
            ticks += sum(fields(child))
        except FileNotFoundError:
            pass  # It ended meanwhile, and counts in the next look.
    return ticks / os.sysconf("SC_CLK_TCK")


def client_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@dataclasses.dataclass
class Taken:
    """Of one command: milliseconds, and microseconds of processor."""
    p50: float
    mean: float
    cpu: dict

    @property
    def cpu_us(self):
        return sum(self.cpu.values())


class Commands:
    """Commands `true` by StartJob, so many at once."""

    def __init__(self, stack, at_once):
        self.at_once, self.count = at_once, 200 * max(1, at_once // 4)
        principal = next(line.split()[-2] for line in stack.ctl("ls").stdout.splitlines() if line.split()[:1] == [LABEL])
        shutil.copy2(BUILD / "tests" / "bench" / "job_overhead", stack.state / "bin")
        self.program = as_user("sandkeep-gw", {}, stack.state / "bin" / "job_overhead", stack.socket, principal, LABEL, at_once,
                               self.count)
        init = int(podman("inspect", "--format", "{{.State.Pid}}", container_of(stack, LABEL)))
        self.clocks = {"agent": lambda: cpu_seconds(stack.agent.pid), "init": lambda: cpu_seconds(init), "client": client_seconds,
                       "supervisor and shell": lambda: below_seconds(init)}

    def run(self):
        before = {who: clock() for who, clock in self.clocks.items()}
        done = subprocess.run(self.program, cwd="/", check=True, capture_output=True, text=True, timeout=120)
        p50, mean = map(float, done.stdout.split())
        return Taken(p50, mean, {who: (clock() - before[who]) / self.count * 1e6 for who, clock in self.clocks.items()})


def job_overhead_1(stack):
    warm_up(stack)
    commands, values = Commands(stack, 1), []
    with client(stack) as mine:
        make_spawner(mine)
        for _ in range(PAIRS):
            values.append(commands.run().p50 - spawn(mine, 1, 210)["p50_us"] / 1000)
    return Measured(values, "ms", 1)


def job_overhead_32(stack):
    """With as many at once as that, all processors are busy, and a command takes what all of them need of those: so the note
    says what of the processors goes where, and what the least would be: a supervisor and a call that do nothing else."""
    warm_up(stack)
    at_once = 32
    commands, ours, spawns, streams = Commands(stack, at_once), [], {"bare": [], "kept": [], "fresh": []}, []
    with client(stack) as mine:
        make_spawner(mine)
        for _ in range(PAIRS):
            ours.append(commands.run())
            for way, measured in spawns.items():
                measured.append(spawn(mine, at_once, 200 // at_once + 10, way))
            streams.append(least_of("stream_floor", at_once, STREAM_SECONDS)["cpu_us"])
    measured = Measured([one.p50 - bare["p50_us"] / 1000 for one, bare in zip(ours, spawns["bare"])], "ms", 5)
    measured.note = note_on(at_once, ours, spawns, statistics.median(streams))
    return measured


def note_on(at_once, ours, spawns, stream):
    def middle(values):
        return statistics.median(values)

    def over_bare(way):
        return middle(one["cpu_us"] - bare["cpu_us"] for one, bare in zip(spawns[way], spawns["bare"]))

    def in_ms(cpu_us):
        """All that wait share the processors."""
        return cpu_us * at_once / os.cpu_count() / 1000

    bare = {key: middle(one[key] for one in spawns["bare"]) for key in ("p50_us", "mean_us", "cpu_us")}
    more = middle(one.cpu_us - plain["cpu_us"] for one, plain in zip(ours, spawns["bare"]))
    mean = middle(one.mean - plain["mean_us"] / 1000 for one, plain in zip(ours, spawns["bare"]))
    least = max(over_bare("kept"), 0) + stream
    parts = ", ".join(f"{who} {middle(one.cpu[who] for one in ours):.0f}" for who in ours[0].cpu)
    return (f"mean minus the bare spawn's {mean:.1f} ms (of the bare spawn p50 {bare['p50_us'] / 1000:.1f}, mean "
            f"{bare['mean_us'] / 1000:.1f}); us of processor: {parts}; bare spawn {bare['cpu_us']:.0f}; ours beyond it {more:.0f}, so "
            f"{in_ms(more):.1f} ms; the least beyond it {least:.0f}, so {in_ms(least):.1f} ms: a supervisor {over_bare('kept'):.0f} "
            f"(forked for each: {over_bare('fresh'):.0f}) and a call {stream:.0f}")


ALL = {"job-overhead-1": job_overhead_1, "job-overhead-32": job_overhead_32}
