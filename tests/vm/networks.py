"""What is around the emulated host: an internet, a LAN and a cloud's metadata service, each in a network namespace of its own.

    internet  203.0.113.5, behind the default route; the host is 198.51.100.1 there
    lan       192.168.77.2 and 169.254.169.254, beside the host's 192.168.77.1; its resolver is 192.168.77.53
"""

import textwrap

HOST_PUBLIC = "198.51.100.1"
HOST_LAN = "192.168.77.1"
INTERNET = "203.0.113.5"
NEIGHBOUR = "192.168.77.2"
ROUTER = "198.51.100.2"  # On the host's own public network.
METADATA = "169.254.169.254"
RESOLVER = "192.168.77.53"
ADDED = "198.18.5.1"
NAME = "internet.example"
PORT = 8088
# Who it is that SELinux lets do all of this.
ADMINISTRATOR = "unconfined_u:unconfined_r:unconfined_t:s0-s0:c0.c1023"

# Answers every question with the internet's address.
DNS = textwrap.dedent(f"""
    import socket
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind(("{RESOLVER}", 53))
    while True:
        question, peer = server.recvfrom(512)
        end = question.index(0, 12) + 5
        asks_ipv4 = question[end - 4:end - 2] == bytes((0, 1))
        answer = b"\\xc0\\x0c\\0\\1\\0\\1\\0\\0\\0\\x3c\\0\\4" + socket.inet_aton("{INTERNET}") if asks_ipv4 else b""
        server.sendto(question[:2] + b"\\x81\\x80\\0\\1\\0" + bytes((len(answer) > 0,)) + b"\\0\\0\\0\\0" + question[12:end] + answer, peer)
""")

# Takes connections on every address of its namespace, and says nothing.
LISTEN = f"import socket, time; s = socket.create_server(('', {PORT})); time.sleep(1 << 30)"


def lay_out(host):
    def link(name, here, *there):
        lines = [f"ip netns add {name}", f"ip link add {name}0 type veth peer name eth0 netns {name}", f"ip address add {here} dev {name}0",
                 f"ip link set {name}0 up", f"ip -n {name} link set lo up", f"ip -n {name} link set eth0 up"]
        lines += [f"ip -n {name} address add {address} dev {device}" for address, device in there]
        return lines

    host.run(" && ".join([
        *link("internet", f"{HOST_PUBLIC}/24", (f"{ROUTER}/24", "eth0"), (f"{INTERNET}/32", "lo")),
        *link("lan", f"{HOST_LAN}/24", (f"{NEIGHBOUR}/24", "eth0"), (f"{RESOLVER}/24", "eth0"), (f"{METADATA}/32", "lo")),
        f"ip route replace default via {ROUTER}",
        f"ip route replace {METADATA}/32 dev lan0",
        f"echo nameserver {RESOLVER} >/etc/resolv.conf",
    ]))
    host.run(f"cat >/run/dns.py <<'END'\n{DNS}\nEND")
    for number, command in enumerate((f'python3 -c "{LISTEN}"', f'nsenter --net=/run/netns/internet python3 -c "{LISTEN}"',
                                      f'nsenter --net=/run/netns/lan python3 -c "{LISTEN}"', "nsenter --net=/run/netns/lan python3 /run/dns.py")):
        host.run(f"systemd-run --quiet --unit=around-{number} --collect -p SELinuxContext={ADMINISTRATOR} -- {command}")
    # From the host each is reached: what a sandbox doesn't reach is kept from it.
    for address in (INTERNET, NEIGHBOUR, METADATA, ROUTER, HOST_PUBLIC, HOST_LAN, "127.0.0.1"):
        host.run(f"for _ in $(seq 100); do {probe(address)} && exit; sleep 0.2; done; exit 1")


def probe(address, seconds=10):
    return f"timeout {seconds} bash -c '</dev/tcp/{address}/{PORT}' 2>/dev/null"
