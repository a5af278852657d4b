"""What deploy/netdeny.py has denied to sandboxes, for machines of every kind: each a network namespace of its own."""

import ipaddress
import subprocess

import pytest
from stack import ROOT

NETDENY = ROOT / "deploy" / "netdeny.py"


class Lists:
    def __init__(self, text):
        self.denied, self.allowed = ([ipaddress.ip_network(one) for one in line.split()] for line in text.split("\n")[:2])

    @staticmethod
    def _has(networks, address):
        address = ipaddress.ip_address(address)
        return any(address in network for network in networks if network.version == address.version)

    def denies(self, address):
        return self._has(self.denied, address)

    def allows(self, address):
        return self._has(self.allowed, address)


@pytest.fixture
def lists(tmp_path):
    def ask(settings="", resolvers="", machine="true"):
        (tmp_path / "agent.env").write_text(settings)
        (tmp_path / "resolv.conf").write_text(resolvers)
        script = (f"ip link set lo up; {machine}; mount --bind {tmp_path}/resolv.conf $(realpath /etc/resolv.conf); "
                  f"exec python3 -I {NETDENY} --once {tmp_path}/agent.env")
        done = subprocess.run(["unshare", "--net", "--mount", "bash", "-euc", script], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        return Lists(done.stdout)
    return ask


CARD = "ip tuntap add dev card mode tap; ip link set card up"


def test_what_is_private_everywhere_is_denied_and_the_internet_is_not(lists):
    found = lists()
    for address in ("127.0.0.1", "10.1.2.3", "172.16.0.1", "172.31.255.255", "192.168.0.1", "100.64.0.1", "169.254.169.254", "224.0.0.1",
                    "255.255.255.255", "::1", "fe80::1", "fd00:ec2::254", "ff02::1"):
        assert found.denies(address), address
    for address in ("1.1.1.1", "172.32.0.1", "192.169.0.1", "100.128.0.1", "203.0.113.5", "2606:4700::1111"):
        assert not found.denies(address), address


def test_the_machines_addresses_and_the_networks_that_it_stands_in_are_denied(lists):
    found = lists(machine=f"{CARD}; ip address add 198.51.100.7/25 dev card; ip address add 203.0.113.9/32 dev lo; "
                          "ip -6 address add 2001:db8:1::7/64 dev card nodad; ip route add default via 198.51.100.1")
    for address in ("198.51.100.7", "198.51.100.120", "203.0.113.9", "2001:db8:1::7", "2001:db8:1::99"):
        assert found.denies(address), address
    for address in ("198.51.100.129", "203.0.113.8", "2001:db8:2::7", "8.8.8.8"):
        assert not found.denies(address), address


def test_a_tunnel_to_everywhere_is_no_network_of_ours(lists):
    found = lists(machine=f"{CARD}; ip route add 0.0.0.0/1 dev card; ip route add 128.0.0.0/1 dev card; ip route add default dev card")
    assert not found.denies("8.8.8.8") and not found.denies("203.0.113.5")


def test_resolvers_and_exceptions_are_allowed_and_nonsense_is_left_out(lists):
    found = lists("# NETWORK_ALLOW=10.9.9.9\nNETWORK_ALLOW = \"192.168.5.0/24, 10.1.2.3,nobody\"\n",
                  "# nameserver 10.0.0.9\nnameserver 192.168.1.1\nnameserver fe80::1%eth0\nnameserver\nnameserver no.address\n")
    for address in ("192.168.5.77", "10.1.2.3", "192.168.1.1", "fe80::1"):
        assert found.allows(address), address
    for address in ("10.9.9.9", "192.168.1.2", "10.0.0.9"):
        assert not found.allows(address), address
    assert found.denies("192.168.5.77")  # What is allowed goes before it.


def test_with_the_whole_network_nothing_is_denied(lists):
    found = lists("SANDBOX_NETWORK=full\n", "nameserver 192.168.1.1\n")
    assert found.denied == [] and found.allowed == []
