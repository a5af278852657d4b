#!/usr/bin/python3
"""Keeps what `SANDBOX_NETWORK=internet` denies to sandboxes true while this machine's addresses, networks and resolvers change.

The helpers that carry sandboxes' traffic run in the agent's unit, whose IPAddressDeny= and IPAddressAllow= bind them. The unit file
has the ranges that are private everywhere; this adds what this machine is called, and the networks that it stands in, within a
second of every change. It is root's, speaks with nobody but the kernel and systemd, and holds nothing: it may be killed at any time,
and the last lists stay. `sandkeep-agent` trusts none of it: it tries by itself whether the lists hold.

usage: netdeny.py [--once] AGENT_ENV_FILE   (--once: print the lists and change nothing)
"""

import contextlib
import ipaddress
import os
import select
import socket
import struct
import subprocess
import sys

UNIT = "sandkeep-agent.service"

# Loopback, link-local (clouds answer there), private, shared, multicast, broadcast.
ALWAYS = [ipaddress.ip_network(text) for text in (
    "127.0.0.0/8", "169.254.0.0/16", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "224.0.0.0/4",
    "255.255.255.255/32", "::1/128", "fe80::/10", "fc00::/7", "ff00::/8")]
# A network without a gateway that is wider than these is no LAN but a tunnel to everywhere.
WIDEST = {4: 8, 6: 16}

RESOLVERS = ("/etc/resolv.conf", "/run/systemd/resolve/resolv.conf")
LOOK_SECONDS = 2

# linux/rtnetlink.h
RTM_GETADDR, RTM_GETROUTE = 22, 26
RTM_NEWADDR, RTM_NEWROUTE = 20, 24
NLM_F_REQUEST_DUMP = 0x301
NLMSG_ERROR, NLMSG_DONE = 2, 3
IFA_ADDRESS, IFA_LOCAL = 1, 2
RTA_DST, RTA_GATEWAY, RTA_MULTIPATH, RTA_VIA = 1, 5, 9, 18
RTN_UNICAST = 1
# Addresses and routes, IPv4 and IPv6.
CHANGES = 0x10 | 0x40 | 0x100 | 0x400
HEADER = struct.Struct("=IHHII")
ATTRIBUTE = struct.Struct("=HH")
BUFFER = 1 << 16


# --- what the kernel says ---


def dump(kind):
    """The (type, body) of each message that answers one question."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, socket.NETLINK_ROUTE) as kernel:
        body = bytes(16)
        kernel.sendall(HEADER.pack(HEADER.size + len(body), kind, NLM_F_REQUEST_DUMP, 1, 0) + body)
        while True:
            data = kernel.recv(BUFFER)
            while len(data) >= HEADER.size:
                length, answer, _, _, _ = HEADER.unpack_from(data)
                if answer == NLMSG_DONE:
                    return
                if answer == NLMSG_ERROR or length < HEADER.size:
                    raise OSError("the kernel doesn't list its addresses")
                yield answer, data[HEADER.size:length]
                data = data[(length + 3) & ~3:]


def attributes(data):
    found = {}
    while len(data) >= ATTRIBUTE.size:
        length, kind = ATTRIBUTE.unpack_from(data)
        if length < ATTRIBUTE.size:
            break
        found[kind & 0x3FFF] = data[ATTRIBUTE.size:length]
        data = data[(length + 3) & ~3:]
    return found


def own_addresses():
    for kind, body in dump(RTM_GETADDR):
        if kind == RTM_NEWADDR and body[0] in (socket.AF_INET, socket.AF_INET6):
            found = attributes(body[8:])
            address = found.get(IFA_LOCAL, found.get(IFA_ADDRESS))
            if address:
                yield ipaddress.ip_network(ipaddress.ip_address(address))


def networks_on_link():
    """Those that this machine reaches without a gateway: whoever is there is its neighbour."""
    for kind, body in dump(RTM_GETROUTE):
        family, bits, _, _, _, _, _, route_type = body[:8]
        if kind != RTM_NEWROUTE or family not in (socket.AF_INET, socket.AF_INET6) or route_type != RTN_UNICAST:
            continue
        found = attributes(body[12:])
        if RTA_DST not in found or found.keys() & {RTA_GATEWAY, RTA_MULTIPATH, RTA_VIA}:
            continue
        network = ipaddress.ip_network((found[RTA_DST], bits), strict=False)
        if bits >= WIDEST[network.version]:
            yield network


# --- what people say ---


def resolvers(paths=RESOLVERS):
    for path in paths:
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                lines = [line.split() for line in file]
        except OSError:
            continue
        for words in lines:
            if len(words) > 1 and words[0] == "nameserver":
                try:
                    yield ipaddress.ip_network(ipaddress.ip_address(words[1].split("%")[0]))
                except ValueError:
                    continue


def settings(path):
    """Of the agent's file; what it can't read there it says itself."""
    found = {}
    with open(path, encoding="utf-8", errors="replace") as file:
        for line in file:
            name, equals, value = line.strip().partition("=")
            if equals and not name.startswith(("#", ";")):
                found[name.strip()] = value.strip().strip("\"'")
    return found


def exceptions(listed):
    for entry in listed.split(","):
        try:
            yield ipaddress.ip_network(entry.strip(), strict=False)
        except ValueError:
            continue


# --- the lists ---


def collapsed(networks):
    networks = list(networks)
    return [str(network) for version in (4, 6)
            for network in ipaddress.collapse_addresses(one for one in networks if one.version == version)]


def lists(env_file):
    """(denied, allowed), as systemd takes them."""
    chosen = settings(env_file)
    if chosen.get("SANDBOX_NETWORK", "internet") == "full":
        return [], []
    return (collapsed([*ALWAYS, *own_addresses(), *networks_on_link()]),
            collapsed([*exceptions(chosen.get("NETWORK_ALLOW", "")), *resolvers()]))


def apply(denied, allowed):
    """In force when this returns: systemd puts the new filter beside the old one before it takes that away."""
    command = ["systemctl", "set-property", "--runtime", UNIT, "IPAddressDeny=", "IPAddressAllow="]
    command += [f"IPAddressDeny={' '.join(denied)}"] * bool(denied) + [f"IPAddressAllow={' '.join(allowed)}"] * bool(allowed)
    subprocess.run(command, check=True)
    print(f"denied: {' '.join(denied) or 'nothing'}; allowed all the same: {' '.join(allowed) or 'nothing'}", flush=True)


def notify(text):
    path = os.environ.get("NOTIFY_SOCKET")
    if path:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
            manager.connect("\0" + path[1:] if path.startswith("@") else path)
            manager.send(text.encode())


def watch(env_file):
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, socket.NETLINK_ROUTE) as changes:
        changes.bind((0, CHANGES))
        changes.setblocking(False)
        last = None
        while True:
            wanted = lists(env_file)
            if wanted != last:
                apply(*wanted)
                last = wanted
            notify("READY=1\nWATCHDOG=1")
            select.select([changes], [], [], LOOK_SECONDS)
            drain(changes)


def drain(changes):
    """What has changed is asked for anew, so it doesn't matter if the kernel had more to say than fits."""
    with contextlib.suppress(OSError):
        while changes.recv(BUFFER):
            pass


if __name__ == "__main__":
    if sys.argv[1:2] == ["--once"] and len(sys.argv) == 3:
        print("\n".join(" ".join(one) for one in lists(sys.argv[2])))
    elif len(sys.argv) == 2:
        watch(sys.argv[1])
    else:
        sys.exit(__doc__)
