"""One sandbox that prints without end must not make another one's commands slow."""

import secrets
import time

from mcp_client import McpClient
from programs import bring, field

ECHOES = 200
# A flood keeps a processor and the agent's pump busy: on two processors a neighbour gets slower, not slow.
MOST_TIMES = 4
LEAST_BOUND = 0.05  # seconds: below it, whatever the factor, nobody notices


def percentiles(client, label):
    took = []
    for _ in range(ECHOES):
        before = time.monotonic()
        result = client.run(label, "echo x")
        took.append(time.monotonic() - before)
        assert result.output == "x\n", result
    took.sort()
    return {"p50": took[len(took) // 2], "p99": took[len(took) * 99 // 100]}


def test_echo_in_one_sandbox_stays_quick_beside_a_flood_in_another(stack, record_property):
    label = f"beside-{secrets.token_hex(3)}"
    with McpClient(stack.url, stack.key) as alice, McpClient(stack.url, stack.key2) as bob:
        bring(alice, "flood", "stdout_flood")
        bob.output(label, "true")
        quiet = percentiles(bob, label)
        job = field(alice.run("flood", f"stdout_flood {1 << 40}", wait_seconds=0), "job")
        size = int(field(alice.call("wait_command", sandbox="flood", job=job, wait_seconds=1), "next offset"))
        beside = percentiles(bob, label)
        grown = int(field(alice.call("wait_command", sandbox="flood", job=job, wait_seconds=0), "next offset")) - size
        alice.call("stop_command", sandbox="flood", job=job, signal="KILL")
    print("quiet", quiet, "beside a flood", beside, "which printed", grown >> 20, "MiB")
    record_property("seconds", {"quiet": quiet, "flood": beside})
    assert grown > 16 << 20, "it flooded all the while"
    for which, most in beside.items():
        assert most < max(MOST_TIMES * quiet[which], LEAST_BOUND), (quiet, beside)
