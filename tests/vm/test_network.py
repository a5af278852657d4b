"""What `SANDBOX_NETWORK=internet`, which is the default, lets sandboxes reach, and who sees to it."""

import time

import networks
import pytest
from networks import ADDED, HOST_LAN, HOST_PUBLIC, INTERNET, METADATA, NAME, NEIGHBOUR, PORT, ROUTER

AGENT = "sandkeep-agent.service"
NETDENY = "sandkeep-netdeny.service"
# Of the promise: an address that the host gets is refused within these.
FOLLOWS_SECONDS = 5


@pytest.fixture(scope="module", autouse=True)
def around(stack):
    networks.lay_out(stack)
    # A sandbox's way out is by the route that there was when it started, and one has been started to wait.
    stack.run(f"systemctl stop {AGENT}; systemctl start {AGENT}", 300)
    # It has followed: what it does for the first time is not what is measured.
    denies(stack, HOST_PUBLIC)


def denies(host, address):
    host.run(f"for _ in $(seq 100); do systemctl show -P IPAddressDeny {AGENT} | grep -qF {address.rpartition('.')[0]}. && exit; "
             "sleep 0.2; done; exit 1")


def reached(alice, label, *addresses):
    """Those of them that a sandbox reaches."""
    tries = "; ".join(f"({networks.probe(address)} && echo {address}) &" for address in addresses)
    return set(alice.output(label, f"{tries} wait".replace("&; ", "& ")).split())


def test_the_internet_is_reached_and_neither_host_nor_lan_nor_metadata(alice, label):
    asked = (INTERNET, HOST_PUBLIC, HOST_LAN, NEIGHBOUR, METADATA, ROUTER, "10.0.2.2", "169.254.1.1", "169.254.1.2")
    assert reached(alice, label, *asked) == {INTERNET}


def test_names_are_resolved_though_the_resolver_is_of_a_private_network(alice, label):
    assert INTERNET in alice.output(label, f"getent ahostsv4 {NAME}")


def test_a_sandbox_reaches_its_own_loopback(alice, label):
    listen = f"use IO::Socket::INET; my $kept = IO::Socket::INET->new(Listen => 5, LocalPort => {PORT}) or die; sleep 60"
    found = alice.run(label, f"perl -e '{listen}' & for i in $(seq 50); do {networks.probe('127.0.0.1')} && echo reached && break; sleep 0.2; "
                             "done; kill %1")
    assert "reached" in found.output, found


def test_an_address_that_the_host_gets_is_refused_within_seconds(host, alice, label):
    assert alice.run(label, "true").exit_code == 0
    host.run(f"ip address add {ADDED}/32 dev lo && {networks.probe(ADDED)}")
    try:
        time.sleep(FOLLOWS_SECONDS)
        assert reached(alice, label, ADDED, INTERNET) == {INTERNET}
    finally:
        host.run(f"ip address del {ADDED}/32 dev lo")


def test_a_resolver_that_changes_is_followed(host, alice, label):
    host.run("ip -n lan address add 192.168.78.53/32 dev lo; ip route add 192.168.78.53 dev lan0; cp /etc/resolv.conf /run/resolv.kept; "
             "echo nameserver 192.168.78.53 >/etc/resolv.conf")
    try:
        host.run(f"for _ in $(seq 100); do systemctl show -P IPAddressAllow {AGENT} | grep -q 192.168.78.53 && exit; sleep 0.2; done; exit 1")
        assert "192.168.77.53" not in host.run(f"systemctl show -P IPAddressAllow {AGENT}")
    finally:
        host.run("cp /run/resolv.kept /etc/resolv.conf")


def test_without_the_filter_nothing_starts_and_whoever_asks_is_told_why(host, alice, label):
    host.run(f"systemctl stop {NETDENY}; systemctl set-property --runtime {AGENT} IPAddressDeny=")
    try:
        refused = alice.run(label, "echo started")
        assert refused.is_error and "started" not in refused.text, refused
        assert "SANDBOX_NETWORK=internet: nothing keeps sandboxes from" in host.journal(AGENT)
        # What is said of the host may be a minute old.
        problem = host.run(f"for _ in $(seq 90); do sandkeepctl info | grep -q {NETDENY} && break; sleep 1; done; sandkeepctl info", 300)
        assert "127.0.0.1" in problem and NETDENY in problem, problem
    finally:
        host.run(f"systemctl start {NETDENY}")
    assert alice.output(label, "echo started") == "started\n"


def test_a_frozen_sandbox_does_not_thaw_without_the_filter(host, alice, label):
    alice.output(label, "echo before")
    principal = host.run(f"sandkeepctl ls | awk '$1 == \"{label}\" {{ print $(NF - 1) }}'").strip()
    host.run(f"sandkeepctl freeze {principal} {label} && systemctl stop {NETDENY} && "
             f"systemctl set-property --runtime {AGENT} IPAddressDeny=")
    try:
        assert alice.run(label, "echo after").is_error
    finally:
        host.run(f"systemctl start {NETDENY}")
    assert alice.output(label, "echo after") == "after\n"
