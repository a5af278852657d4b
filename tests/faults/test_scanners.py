"""What others have written to find fault with servers: testssl.sh and slowhttptest."""

import csv
import json
import subprocess
import threading
import time

import pytest
from mcp_client import McpClient
from test_tls import NAME, TlsStack

TESTSSL_SECONDS = 600
PROTOCOLS = {"SSLv2": "not", "SSLv3": "not", "TLS1": "not", "TLS1_1": "not", "TLS1_2": "offered", "TLS1_3": "offered"}
GRAVE = ("MEDIUM", "HIGH", "CRITICAL")
# One that a test makes is nobody's.
OF_THE_CERTIFICATE = ("cert_chain_of_trust", "cert_trust", "cert_revocation", "cert_expirationStatus", "cert_notAfter")
# Longer than a request's body may take.
SLOW_SECONDS = 90
NOTICED_SECONDS = 5
SLOW_CONNECTIONS = 1000
# slowhttptest's ways: headers that never end, bodies that trickle, answers that nobody takes.
WAYS = {"headers": ["-H"], "body": ["-B", "-s", "8192"], "read": ["-X", "-w", "1", "-y", "8", "-z", "1", "-k", "3"]}
# What the kernel takes off the gateway's hands isn't slow for the gateway: such a connection is one that is silent.
DROPPED = ("headers", "body")


class Person(threading.Thread):
    """Works on while others are slow, and remembers how long the worst of it took."""

    def __init__(self, stack):
        super().__init__()
        self.stack, self.over, self.worst, self.answered, self.failed = stack, threading.Event(), 0.0, 0, []

    def run(self):
        try:
            with McpClient(self.stack.url, self.stack.key) as client:
                while not self.over.wait(0.2):
                    began = time.monotonic()
                    answer = client.call("sandbox_info")
                    self.worst = max(self.worst, time.monotonic() - began)
                    self.answered += 1
                    if answer.is_error:
                        self.failed.append(answer)
        except Exception as error:  # Else the thread would end unnoticed.
            self.failed.append(error)


def start(stack, way, report):
    return subprocess.Popen(["slowhttptest", *WAYS[way], "-c", str(SLOW_CONNECTIONS), "-r", "200", "-i", "10", "-l", str(SLOW_SECONDS),
                             "-p", "3", "-x", "24", "-g", "-o", report, "-u", f"http://127.0.0.1:{stack.port}/healthz"],
                            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def test_slow_clients_are_dropped_and_a_person_does_not_notice(stack, tmp_path):
    person = Person(stack)
    person.start()
    scanners = [start(stack, way, tmp_path / way) for way in WAYS]
    try:
        for scanner in scanners:
            scanner.wait(timeout=SLOW_SECONDS + 60)
    finally:
        for scanner in scanners:
            scanner.kill()
            scanner.wait()
        person.over.set()
        person.join()
    rows = {way: list(csv.DictReader((tmp_path / f"{way}.csv").read_text().splitlines())) for way in WAYS}
    assert not person.failed, person.failed
    # Two seconds each at most, on the whole.
    assert person.answered > SLOW_SECONDS / 2, person.answered
    assert person.worst < NOTICED_SECONDS, f"a person waited {person.worst:.1f} s"
    for way, seconds in rows.items():
        assert max(int(row["Connected"]) for row in seconds) > SLOW_CONNECTIONS / 2, (way, seconds)
    for way in DROPPED:
        # It ends when none is left, and otherwise with its time.
        assert int(rows[way][-1]["Seconds"]) < SLOW_SECONDS - NOTICED_SECONDS, (way, rows[way][-5:])


@pytest.fixture
def encrypted():
    with TlsStack() as stack:
        yield stack


def test_testssl_finds_nothing_to_warn_of(encrypted, tmp_path):
    report = tmp_path / "report.json"
    done = subprocess.run(["testssl", "--quiet", "--color", "0", "--warnings", "batch", "-p", "-s", "-f", "-S", "-h", "-U", "--add-ca",
                           encrypted.pair.certificate, "--jsonfile", report, "--ip", "127.0.0.1", f"{NAME}:{encrypted.port}"],
                          capture_output=True, text=True, timeout=TESTSSL_SECONDS)
    found = {entry["id"]: entry for entry in json.loads(report.read_text())}
    assert {name: found[name]["finding"].split()[0] for name in PROTOCOLS} == PROTOCOLS, done.stdout[-4000:]
    grave = {name: entry["finding"] for name, entry in found.items() if entry["severity"] in GRAVE and name not in OF_THE_CERTIFICATE}
    assert not grave, grave
    # Version 3.2 and newer.
    assert found.get("overall_grade", {"finding": "A"})["finding"] in ("A", "A+"), done.stdout[-4000:]
