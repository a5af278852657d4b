"""The official conformance suite: what it requires of each revision, and what it says of our authorization server.

A gateway that has the suite's fixtures beside its own tools must pass all that is scored, but for what a baseline file names with a
reason; an entry there that passes fails the run. The shipped gateway must pass every scenario that needs no fixture, and of two that
need some, all the rest."""

import re
import subprocess
import urllib.error
import urllib.request

import pytest
import suite
from sign_in import SignInClient, person_signs_in
from stack import Stack, free_port, wait_for

# Scenarios of the revisions that ask for nothing but the protocol itself.
FIXTURE_FREE = {
    "2025-11-25": ["server-initialize", "server-session-lifecycle", "ping", "tools-list", "dns-rebinding-protection",
                   "server-sse-multiple-streams", "resources-list"],
    "2026-07-28": ["server-stateless", "tools-list", "dns-rebinding-protection", "server-sse-multiple-streams", "caching",
                   "http-header-validation", "input-required-result-unsupported-methods", "resources-list",
                   "sep-2164-resource-not-found"],
}

# Of the tasks extension; the suite scores none of them yet. Left out: tasks-required-task-error, which is about tools that can't be
# called without it, and we have none; tasks-status-notifications, which the suite itself skips.
OF_TASKS = ["tasks-lifecycle", "tasks-capability-negotiation", "tasks-wire-fields", "tasks-request-state-removal", "tasks-mrtr-input",
            "tasks-request-headers", "tasks-dispatch-and-envelope", "tasks-mrtr-composition"]


@pytest.fixture(scope="module")
def with_fixtures():
    with Stack(gateway_program="tests/conformance/sandkeep-conformance-gateway") as running, suite.proxy_before(running) as url:
        yield url


@pytest.fixture(scope="module")
def shipped(stack):
    with suite.proxy_before(stack) as url:
        yield url


@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
def test_all_that_a_revision_requires(with_fixtures, revision):
    baseline = suite.HERE / f"baseline-{revision}.yml"
    status, printed, checks = suite.run(f"fixtures-{revision}", "server", "--url", with_fixtures, "--requirements", revision,
                                        "--expected-failures", baseline)
    assert status == 0, printed
    assert len(checks) >= {"2025-11-25": 30, "2026-07-28": 37}[revision]


@pytest.mark.parametrize("scenario", OF_TASKS)
def test_the_tasks_extension(with_fixtures, scenario):
    # An extension is on no revision's time line: it has to be asked for.
    status, printed, checks = suite.run(scenario, "server", "--url", with_fixtures, "--scenario", scenario,
                                        "--spec-version", "2026-07-28", "--force")
    assert status == 0, printed
    assert checks, printed
    assert not [check for found in checks.values() for check in found if check[1] == "FAILURE"], printed


@pytest.mark.parametrize(("revision", "scenario"), [(revision, name) for revision, names in FIXTURE_FREE.items() for name in names])
def test_the_shipped_gateway(shipped, revision, scenario):
    status, printed, checks = suite.run(f"shipped-{revision}-{scenario}", "server", "--url", shipped, "--scenario", scenario,
                                        "--spec-version", revision, "--expected-failures", suite.HERE / "baseline-shipped.yml")
    assert status == 0, printed
    assert checks, printed


def arrives(url):
    try:
        urllib.request.urlopen(url, timeout=30).close()
    except urllib.error.URLError:
        return False
    return True


def test_the_authorization_server_with_its_real_pages(stack):
    port = free_port()
    client = SignInClient(stack.url, redirect=f"http://127.0.0.1:{port}/callback").discover().register()
    report = suite.empty_report("authorization")
    runner = subprocess.Popen([suite.NODE, suite.SUITE, "authorization", "--url", client.origin, "--client-id",
                               client.client["client_id"], "--resource", stack.url, "-p", str(port), "--spec-version",
                               "2026-07-28", "-o", report], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        printed = ""
        for line in runner.stdout:
            printed += line
            if address := re.search(r"http://\S+/authorize\?\S+", line):
                back = person_signs_in(address[0], stack.key)
                # It prints the address before it listens.
                wait_for("the suite's callback", lambda: arrives(back))
        status = runner.wait(timeout=60)
    finally:
        runner.kill()
        runner.wait()
        runner.stdout.close()
    assert status == 0, printed
    assert len(suite.checks_in(report)) == 2, printed
