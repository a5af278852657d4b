"""The rows of the bench table that move files: out by links, in by an upload's page."""

import concurrent.futures
import contextlib
import pathlib
import re
import secrets
import socket
import subprocess
import tempfile
import time

import rows
from stack import free_port, wait_for

GIGABYTE = 10**9
SLOW_READERS = 20
SLOW_FILE = 512 << 20

NGINX = """
daemon off; master_process off; pid {folder}/pid; error_log {folder}/error.log;
events {{ worker_connections 64; }}
http {{ access_log off; sendfile on; tcp_nopush on; client_body_temp_path {folder}/b; proxy_temp_path {folder}/p;
  fastcgi_temp_path {folder}/f; uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
  server {{ listen 127.0.0.1:{port}; root {folder}/www; }} }}
"""


@contextlib.contextmanager
def nginx(files):
    """One worker over files of these names and sizes; the base of their URLs."""
    with tempfile.TemporaryDirectory(prefix="sandkeep-bench-") as name:
        folder, port = pathlib.Path(name), free_port()
        (folder / "www").mkdir()
        folder.chmod(0o755)
        for file, size in files.items():
            with open(folder / "www" / file, "wb") as out:
                for _ in range(size >> 20):
                    out.write(b"x" * (1 << 20))
                out.write(b"x" * (size & ((1 << 20) - 1)))
        (folder / "nginx.conf").write_text(NGINX.format(folder=folder, port=port))
        server = subprocess.Popen(["nginx", "-c", str(folder / "nginx.conf"), "-e", str(folder / "error.log")])
        try:
            wait_for("nginx", lambda: socket.socket().connect_ex(("127.0.0.1", port)) == 0)
            yield f"http://127.0.0.1:{port}"
        finally:
            server.terminate()
            server.wait(timeout=15)


def link_of(stack, name, make):
    with rows.client(stack) as mine:
        mine.output(rows.LABEL, make)
        text = mine.call("present_file", sandbox=rows.LABEL, path=name).text
    return re.search(r"\((http://[^)\s]+/dl/[^)\s]+)\)", text).group(1)


def fetch_rate(url):
    """GB/s of one stream, thrown away."""
    done = subprocess.run(["curl", "-fsS", "-o", "/dev/null", "-w", "%{size_download} %{time_total}", url], check=True,
                          capture_output=True, text=True, timeout=300)
    size, seconds = map(float, done.stdout.split())
    return size / seconds / 1e9


def against_nginx(url):
    ours, theirs = [], []
    with nginx({"large.bin": GIGABYTE}) as base:
        for _ in range(rows.RATES):
            ours.append(fetch_rate(url))
            theirs.append(fetch_rate(f"{base}/large.bin"))
    return ours, theirs


def make_large(stack):
    return link_of(stack, "large.bin", f"[ -s large.bin ] || head -c {GIGABYTE} /dev/zero >large.bin")


def expect_way(stack, event):
    """The last word of the gateway's on which way files take."""
    said = [line for line in (stack.state / "gateway.log").read_text().splitlines() if "downloads." in line]
    if not said or event not in said[-1]:
        raise RuntimeError(f"not {event}: {said[-1:]}")


def download_sendfile(stack):
    ours, theirs = against_nginx(make_large(stack))
    expect_way(stack, "downloads.by_descriptor")
    return rows.Measured(ours, "GB/s", 0.7, "nginx with sendfile", theirs, bar_on_ratio=True, lower_is_better=False)


def download_grpc(stack):
    url = make_large(stack)
    with stack.without_descriptors():
        ours, theirs = against_nginx(url)
        expect_way(stack, "downloads.streamed")
    return rows.Measured(ours, "GB/s", 0.4, "nginx with sendfile", theirs, lower_is_better=False)


def download_small(stack):
    url = link_of(stack, "small.bin", "head -c 1000 /dev/zero >small.bin")
    path = url[url.index("/dl/"):]
    ours = [rows.wrk(stack, None, 16, 3, path)[0] for _ in range(rows.RATES)]
    expect_way(stack, "downloads.by_descriptor")
    return rows.Measured(ours, "1/s", 4000, lower_is_better=False)


def upload(stack):
    rates = []
    with tempfile.NamedTemporaryFile(prefix="sandkeep-bench-") as file, rows.client(stack) as mine:
        file.write(secrets.token_bytes(1 << 20) * 954)
        file.flush()
        for number in range(rows.RATES):
            text = mine.call("request_upload", sandbox=rows.LABEL, path=f"up-{number}/", max_bytes=2 * GIGABYTE).text
            url = re.search(r"\((http://[^)\s]+/up/[^)\s]+)\)", text).group(1)
            before = time.monotonic()
            subprocess.run(["curl", "-fsS", "-T", file.name, url], check=True, capture_output=True, timeout=300)
            rates.append((954 << 20) / (time.monotonic() - before) / 1e6)
            mine.output(rows.LABEL, f"rm -r up-{number}")
    return rows.Measured(rates, "MB/s", 300, lower_is_better=False)


def read_slowly(url, seconds):
    """Takes a little, then less than the sender could give; the bytes that it took."""
    host, path = re.match(r"http://([^/]+)(/.*)", url).groups()
    with socket.create_connection((host.split(":")[0], int(host.split(":")[1]))) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 64 << 10)
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
        taken, until = 0, time.monotonic() + seconds
        while time.monotonic() < until:
            taken += len(connection.recv(16 << 10))
            time.sleep(0.02)
    return taken


def rss_slow_readers(stack):
    rows.warm_up(stack)
    url = link_of(stack, "slow.bin", f"truncate -s {SLOW_FILE} slow.bin")

    def all_at_once():
        with concurrent.futures.ThreadPoolExecutor(SLOW_READERS) as pool:
            assert min(pool.map(lambda _: read_slowly(url, 10), range(SLOW_READERS))) > 0
    pathlib.Path(f"/proc/{stack.gateway.pid}/clear_refs").write_text("5")
    all_at_once()
    peak = int(re.search(r"VmHWM:\s+(\d+)", pathlib.Path(f"/proc/{stack.gateway.pid}/status").read_text())[1]) / 1024
    return rows.Measured([peak], "MB", 40)


ALL = {
    "download-sendfile": download_sendfile,
    "download-grpc": download_grpc,
    "download-small": download_small,
    "upload": upload,
    "rss-slow-readers": rss_slow_readers,
}
