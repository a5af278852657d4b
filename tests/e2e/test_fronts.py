"""The fronts of deploy/, with the real programs: what people put before the gateway changes nothing that it does.

The files are used as they are, but for the name, the ports and the places of certificate and log.
"""

import contextlib
import http.client
import json
import pathlib
import re
import shutil
import socket
import ssl
import subprocess
import time

import pytest
from mcp_client import LEGACY, MODERN, McpClient
from stack import ROOT, Stack, free_port, wait_for

NAME = "localhost"
PREFIX = "/k7f3w9q2"
NGINX = """daemon off; master_process off; pid {folder}/pid; error_log {folder}/error.log;
events {{ worker_connections 256; }}
http {{ client_body_temp_path {folder}/b; proxy_temp_path {folder}/p; fastcgi_temp_path {folder}/f; uwsgi_temp_path {folder}/u;
  scgi_temp_path {folder}/s; include {folder}/sandkeep.conf; }}
"""
SILENCE_SECONDS = 6


def replaced(text, changes):
    for old, new in changes.items():
        assert old in text, old
        text = text.replace(old, new)
    return text


def make_certificate(folder):
    done = subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj",
                           f"/CN={NAME}", "-addext", f"subjectAltName=DNS:{NAME}", "-days", "2", "-keyout", folder / "key.pem",
                           "-out", folder / "cert.pem"], capture_output=True, text=True, timeout=30)
    assert done.returncode == 0, done.stderr


def nginx_command(folder, port, upstream, prefix):
    text = replaced((ROOT / "deploy/nginx/sandkeep.conf").read_text(), {
        "/etc/letsencrypt/live/sandbox.example.com/fullchain.pem": f"{folder}/cert.pem",
        "/etc/letsencrypt/live/sandbox.example.com/privkey.pem": f"{folder}/key.pem",
        "sandbox.example.com": NAME, "listen 443": f"listen 127.0.0.1:{port}", "127.0.0.1:8000": f"127.0.0.1:{upstream}",
        "/var/log/nginx/": f"{folder}/"})
    if prefix:
        plain = "    location / {\n        proxy_pass http://sandkeep;\n    }\n"
        text = replaced(text, {plain: "", "/THE-PATH": prefix})
        text = re.sub(r"# (location [/~])", r"\1", text)
    (folder / "sandkeep.conf").write_text(text)
    (folder / "nginx.conf").write_text(NGINX.format(folder=folder))
    return ["nginx", "-c", folder / "nginx.conf", "-e", folder / "error.log"]


def caddy_command(folder, port, upstream, _prefix):
    text = replaced((ROOT / "deploy/caddy/Caddyfile").read_text(), {
        "sandbox.example.com {": f"https://{NAME}:{port} {{\n\ttls {folder}/cert.pem {folder}/key.pem\n\tbind 127.0.0.1",
        "127.0.0.1:8000": f"127.0.0.1:{upstream}"})
    (folder / "Caddyfile").write_text("{\n\tadmin off\n\tauto_https disable_redirects\n}\n" + text)
    return ["caddy", "run", "--adapter", "caddyfile", "--config", folder / "Caddyfile"]


CARELESS = """server {{ listen 127.0.0.1:{port} ssl; server_name {name};
  ssl_certificate {folder}/cert.pem; ssl_certificate_key {folder}/key.pem;
  location / {{ proxy_pass http://127.0.0.1:{upstream}; {mistake} }} }}
"""


def careless_command(folder, port, upstream, mistake):
    """nginx as it is without our file: it buffers answers, and says HTTP/1.0 and its own idea of Host to the gateway."""
    text = CARELESS.format(folder=folder, port=port, upstream=upstream, name=NAME, mistake=mistake)
    (folder / "sandkeep.conf").write_text(text)
    (folder / "nginx.conf").write_text(NGINX.format(folder=folder))
    return ["nginx", "-c", folder / "nginx.conf", "-e", folder / "error.log"]


COMMANDS = {"nginx": nginx_command, "caddy": caddy_command, "careless": careless_command}


class FrontedStack(Stack):
    """A stack behind a front; `key` and clients go through it."""

    def __init__(self, front, prefix=""):
        self.front_port = free_port()
        self.base = f"https://{NAME}:{self.front_port}{prefix}"
        super().__init__(gateway_settings={"MCP_PUBLIC_BASE": self.base, "TRUSTED_PROXIES": "127.0.0.1"})
        self.front, self.prefix, self.program = front, prefix, None

    def __enter__(self):
        super().__enter__()
        try:
            self.start_front(self.prefix)
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(self, *_):
        self._end(self.program, 15)
        super().__exit__()

    def start_front(self, detail):
        """Anew, if there is one."""
        self._end(self.program, 15)
        folder = self.folder = self.state / "front"
        folder.mkdir(mode=0o755, exist_ok=True)
        make_certificate(folder)
        command = COMMANDS[self.front](folder, self.front_port, self.port, detail)
        with open(folder / "output.log", "wb") as log:
            environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": str(folder)}
            self.program = subprocess.Popen(command, stdout=log, stderr=log, env=environment)
        wait_for("the front", self._front_listens)

    def _front_listens(self):
        assert self.program.poll() is None, (self.folder / "output.log").read_text() + (self.folder / "error.log").read_text()
        with socket.socket() as client:
            return client.connect_ex(("127.0.0.1", self.front_port)) == 0

    def client(self, **more):
        return FrontClient(self, **more)

    def curl(self, *arguments):
        return subprocess.run(["curl", "-sS", "--max-time", "60", "--cacert", self.folder / "cert.pem", *arguments],
                              capture_output=True, timeout=90)


class FrontClient(McpClient):
    def __init__(self, stack):
        super().__init__(f"{stack.base}/mcp", stack.key)
        self.context = ssl.create_default_context(cafile=str(stack.folder / "cert.pem"))

    def _connect(self):
        return http.client.HTTPSConnection(self.host, self.port, timeout=self.timeout, context=self.context)


@pytest.fixture(scope="module", params=["nginx", "caddy"])
def fronted(request):
    if shutil.which(request.param) is None and not pathlib.Path(f"/usr/sbin/{request.param}").exists():
        pytest.skip(f"{request.param} isn't installed")
    with FrontedStack(request.param) as stack:
        yield stack


@pytest.fixture
def client(fronted):
    with fronted.client() as client:
        yield client


def test_what_comes_is_passed_on_as_it_comes(fronted, client, label):
    client.output(label, "true")
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": {"name": "run_command", "_meta": {"progressToken": "p"},
                       "arguments": {"sandbox": label, "command": f"sleep {SILENCE_SECONDS}; echo end"}}}
    headers = {"Authorization": f"Bearer {fronted.key}", "Content-Type": "application/json",
               "Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-11-25"}
    with contextlib.closing(client._connect()) as connection:
        connection.request("POST", f"{fronted.prefix}/mcp", json.dumps(body), headers)
        answer = connection.getresponse()
        first = answer.readline()
        seen = time.monotonic()
        rest = answer.read()
        assert first and b"end" in rest, (first, rest)
        assert time.monotonic() - seen > SILENCE_SECONDS / 2, "it came all at once"


def test_names_links_and_files_are_right(fronted, client, label, tmp_path):
    size = 5_000_000
    client.output(label, f"head -c {size} /dev/urandom >f")
    checksum = client.output(label, "sha256sum <f").split()[0]
    link = re.search(r"\((https://[^)\s]+/dl/[^)\s]+)\)", client.call("present_file", sandbox=label, path="f").text)[1]
    assert link.startswith(f"{fronted.base}/dl/"), link
    file = tmp_path / "f"
    file.write_bytes(fronted.curl(link).stdout)
    assert file.stat().st_size == size
    page = re.search(r"\((https://[^)\s]+/up/[^)\s]+)\)",
                     client.call("request_upload", sandbox=label, path="in/", max_bytes=2 * size).text)[1]
    assert page.startswith(f"{fronted.base}/up/"), page
    done = fronted.curl("-f", "-T", file, page)
    assert done.returncode == 0, done.stderr
    assert client.output(label, "sha256sum <in/f").split()[0] == checksum
    logs = "".join(path.read_text(errors="replace") for path in fronted.folder.glob("*.log"))
    signature, upload = link.partition("/dl/")[2].split("/")[1], page.partition("/up/")[2].split("/")[0]
    assert len(signature) > 16 and len(upload) > 16
    assert signature not in logs and upload not in logs, logs[-2000:]


def test_every_answer_asks_for_https_once(fronted):
    shown = fronted.curl("-i", f"https://{NAME}:{fronted.front_port}/healthz").stdout.decode().lower()
    assert shown.count("strict-transport-security:") == 1, shown


def register(fronted, address):
    body = json.dumps({"client_name": "c", "redirect_uris": ["http://127.0.0.1/cb"]})
    url = f"https://{NAME}:{fronted.front_port}/register"
    done = fronted.curl("--interface", address, "-o", "/dev/null", "-w", "%{http_code}\n", "--parallel", "-H",
                        "Content-Type: application/json", "-d", body, *([url] * 100))
    return done.stdout.decode().split()


def test_who_floods_is_known_by_the_address_before_the_front(fronted):
    assert "429" in register(fronted, "127.0.0.5")
    done = fronted.curl("--interface", "127.0.0.6", "-o", "/dev/null", "-w", "%{http_code}", "-H", "Content-Type: application/json",
                        "-d", json.dumps({"client_name": "c", "redirect_uris": ["http://127.0.0.1/cb"]}),
                        f"https://{NAME}:{fronted.front_port}/register")
    assert done.stdout == b"201", done


# What a front does, in which era, and what is answered: that it works, or what is wrong and how to mend it.
MISTAKES = [
    ("", LEGACY, 200, "works"),
    ("", MODERN, 200, "works"),
    ("proxy_set_header Host elsewhere.example;", LEGACY, 403, "ALLOWED_HOSTS or MCP_PUBLIC_BASE"),
    ("proxy_set_header Authorization '';", LEGACY, 401, "Authorization: Bearer"),
    ("proxy_set_header Mcp-Method '';", MODERN, 400, "The Mcp-Method header is missing"),
    ("proxy_set_header Accept '';", LEGACY, 200, "works"),
]


@pytest.fixture(scope="module")
def careless():
    with FrontedStack("careless") as stack:
        yield stack


@pytest.mark.parametrize("mistake, era, status, said", MISTAKES)
def test_a_front_that_rewrites_or_drops_is_told_of_by_name(careless, shared_label, mistake, era, status, said):
    careless.start_front(mistake)
    with careless.client() as client:
        client.era = era
        heard = []
        send = client.send
        client.send = lambda *given, **named: heard.append(send(*given, **named)) or heard[-1]
        with contextlib.suppress(AssertionError):
            client.run(shared_label, "echo works")
        assert heard[-1].status == status and said in heard[-1].body.decode(), (heard[-1].status, heard[-1].body)


def test_a_front_that_buffers_passes_on_at_once_what_asks_it_to(careless, shared_label):
    careless.start_front("")
    with careless.client() as client:
        test_what_comes_is_passed_on_as_it_comes(careless, client, shared_label)


@pytest.fixture(scope="module")
def hidden():
    with FrontedStack("nginx", PREFIX) as stack:
        yield stack


def test_a_path_that_nobody_guesses_is_the_only_one(hidden, label):
    with hidden.client() as client:
        assert client.output(label, "echo here") == "here\n"
        link = re.search(r"\((https://[^)\s]+)\)", client.call("present_file", sandbox=label, path=".").text)
        assert link is None or link[1].startswith(hidden.base), link
        for path in ("/mcp", "/", "/healthz", "/dl/x"):
            assert client.send("GET", path).status == 404, path
        challenge = client.send("POST", f"{PREFIX}/mcp", "{}", {"Content-Type": "application/json"})
        assert challenge.status == 401
        metadata = re.search(r'resource_metadata="([^"]+)"', challenge.headers["www-authenticate"])[1]
        found = json.loads(hidden.curl(metadata).stdout)
        assert found["resource"] == f"{hidden.base}/mcp", found
