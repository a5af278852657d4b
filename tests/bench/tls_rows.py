"""The row of the bench table that is about TLS: full handshakes, the gateway's own against nginx's, with one key."""

import concurrent.futures
import contextlib
import pathlib
import re
import shutil
import socket
import subprocess
import tempfile

import rows
from stack import free_port, wait_for

CLIENTS = 2
SECONDS = 3

# As many handshakes as one core gives: one worker, and no session of before taken up again.
NGINX = """
daemon off; master_process off; pid {folder}/pid; error_log {folder}/error.log;
events {{ worker_connections 64; }}
http {{ access_log off; client_body_temp_path {folder}/b; proxy_temp_path {folder}/p;
  fastcgi_temp_path {folder}/f; uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
  server {{ listen 127.0.0.1:{port} ssl; ssl_protocols TLSv1.3; ssl_certificate {folder}/cert.pem;
            ssl_certificate_key {folder}/key.pem; return 204; }} }}
"""


def listens(port):
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


@contextlib.contextmanager
def pair():
    """A folder with a P-256 key and its certificate."""
    with tempfile.TemporaryDirectory(prefix="sandkeep-bench-") as name:
        folder = pathlib.Path(name)
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj",
                        "/CN=localhost", "-days", "2", "-keyout", folder / "key.pem", "-out", folder / "cert.pem"],
                       check=True, capture_output=True)
        for path in (folder, *folder.iterdir()):
            shutil.chown(path, "sandkeep-gw", "sandkeep-gw")
        yield folder


@contextlib.contextmanager
def nginx(folder):
    port = free_port()
    (folder / "nginx.conf").write_text(NGINX.format(folder=folder, port=port))
    server = subprocess.Popen(["nginx", "-c", str(folder / "nginx.conf"), "-e", str(folder / "error.log")])
    try:
        wait_for("nginx", lambda: listens(port))
        yield port
    finally:
        server.terminate()
        server.wait(timeout=15)


@contextlib.contextmanager
def encrypted(stack, folder):
    stack.stop_gateway()
    stack.start_gateway(wait=False, TLS_CERT=str(folder / "cert.pem"), TLS_KEY=str(folder / "key.pem"))
    try:
        wait_for("the gateway", lambda: listens(stack.port))
        yield stack.port
    finally:
        stack.stop_gateway()
        stack.start_gateway()


def one_client(port):
    done = subprocess.run(["openssl", "s_time", "-connect", f"127.0.0.1:{port}", "-new", "-tls1_3", "-time", str(SECONDS)],
                          capture_output=True, text=True, timeout=SECONDS + 30)
    made = re.search(r"(\d+) connections in (\d+) real seconds", done.stdout)
    assert made, done.stdout + done.stderr
    return int(made[1]) / SECONDS


def handshakes(port):
    with concurrent.futures.ThreadPoolExecutor(CLIENTS) as pool:
        return sum(pool.map(one_client, [port] * CLIENTS))


def tls_handshakes(stack):
    ours, theirs = [], []
    with pair() as folder, nginx(folder) as reference, encrypted(stack, folder) as port:
        for _ in range(rows.RATES):
            ours.append(handshakes(port))
            theirs.append(handshakes(reference))
    return rows.Measured(ours, "1/s", 0.8, "nginx, same key", theirs, bar_on_ratio=True, lower_is_better=False)


ALL = {"tls-handshakes": tls_handshakes}
