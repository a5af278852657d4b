"""TLS in the gateway itself, with the clients that people have: OpenSSL, curl, Python."""

import concurrent.futures
import contextlib
import http.client
import json
import os
import shutil
import ssl
import subprocess
import threading
import urllib.parse

import pytest
from mcp_client import McpClient
from stack import Stack, wait_for

GATEWAY_USER = "sandkeep-gw"
NAME = "localhost"


def openssl(*arguments, given=""):
    return subprocess.run(["openssl", *map(str, arguments)], input=given, capture_output=True, text=True, timeout=30)


class Pair:
    """A self-signed certificate and its key, in a folder that the gateway may read."""

    def __init__(self, folder):
        self.folder = folder
        folder.mkdir(mode=0o750)
        shutil.chown(folder, "root", GATEWAY_USER)
        self.certificate, self.key = folder / "cert.pem", folder / "key.pem"
        self.settings = {"TLS_CERT": str(self.certificate), "TLS_KEY": str(self.key)}

    def make(self):
        fresh = self.folder / "fresh"
        fresh.mkdir()
        done = openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", f"/CN={NAME}",
                       "-addext", f"subjectAltName=DNS:{NAME}", "-days", "30", "-keyout", fresh / "key.pem", "-out",
                       fresh / "cert.pem")
        assert done.returncode == 0, done.stderr
        for name in ("key.pem", "cert.pem"):
            os.chmod(fresh / name, 0o640)
            shutil.chown(fresh / name, "root", GATEWAY_USER)
            os.replace(fresh / name, self.folder / name)
        fresh.rmdir()
        return self

    def expire(self):
        """Signs it again for a time that is over."""
        scratch = self.folder / "authority"
        scratch.mkdir()
        (scratch / "database").touch()
        (scratch / "config").write_text(f"[ca]\ndefault_ca=own\n[own]\ndatabase={scratch}/database\nnew_certs_dir={scratch}\n"
                                        "default_md=sha256\npolicy=any\nrand_serial=yes\n[any]\ncommonName=supplied\n")
        asked = openssl("req", "-new", "-key", self.key, "-subj", f"/CN={NAME}", "-out", scratch / "request")
        assert asked.returncode == 0, asked.stderr
        done = openssl("ca", "-batch", "-notext", "-config", scratch / "config", "-selfsign", "-keyfile", self.key, "-in",
                       scratch / "request", "-out", self.certificate, "-startdate", "20200101000000Z", "-enddate", "20200201000000Z")
        assert done.returncode == 0, done.stderr
        shutil.rmtree(scratch)

    def serial(self):
        return openssl("x509", "-in", self.certificate, "-noout", "-serial").stdout.strip()


class TlsStack(Stack):
    def _lay_out(self):
        super()._lay_out()
        self.pair = Pair(self.state / "tls").make()
        self.gateway_settings.update(self.pair.settings)

    @property
    def url(self):
        return f"https://{NAME}:{self.port}/mcp"

    def gateway_answers(self):
        with contextlib.suppress(OSError):
            return b"ok" in ask(self, "/healthz").body
        return False

    def served_serial(self):
        shown = openssl("s_client", "-connect", f"127.0.0.1:{self.port}", "-servername", NAME).stdout
        return openssl("x509", "-noout", "-serial", given=shown).stdout.strip()


class TlsClient(McpClient):
    def __init__(self, stack):
        super().__init__(stack.url, stack.key)
        self.authority = str(stack.pair.certificate)

    def _connect(self):
        # What it connected with goes on, whatever the files have become.
        context = ssl.create_default_context(cadata=self.authority_text())
        return http.client.HTTPSConnection(self.host, self.port, timeout=self.timeout, context=context)

    def authority_text(self):
        with open(self.authority, encoding="ascii") as file:
            return file.read()


def ask(stack, path):
    with TlsClient(stack) as client:
        return client.send("GET", path)


def curl(stack, url, *more):
    done = subprocess.run(["curl", "-sS", "-i", "--max-time", "20", "--cacert", stack.pair.certificate, *more, url],
                          capture_output=True, text=True, timeout=30)
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def encrypted():
    with TlsStack() as stack:
        yield stack


@pytest.mark.parametrize("version, taken", [("tls1_3", True), ("tls1_2", True), ("tls1_1", False), ("tls1", False)])
def test_old_versions_are_refused(encrypted, version, taken):
    # Its own library refuses to speak them, too, unless it is told to.
    done = openssl("s_client", "-connect", f"127.0.0.1:{encrypted.port}", f"-{version}", "-cipher", "ALL:@SECLEVEL=0")
    assert ("Cipher is (NONE)" not in done.stdout and done.returncode == 0) is taken, done.stdout + done.stderr


@pytest.mark.parametrize("offered, chosen", [("http/1.1", "ALPN protocol: http/1.1"), ("h2,http/1.1", "ALPN protocol: http/1.1"),
                                             ("h2", "no application protocol")])
def test_http_1_1_is_what_is_agreed_on(encrypted, offered, chosen):
    done = openssl("s_client", "-connect", f"127.0.0.1:{encrypted.port}", "-alpn", offered)
    assert chosen in done.stdout + done.stderr


def test_weak_ciphers_are_refused(encrypted):
    for cipher in ("AES128-SHA", "ECDHE-ECDSA-AES128-SHA", "DHE-RSA-AES128-GCM-SHA256"):
        done = openssl("s_client", "-connect", f"127.0.0.1:{encrypted.port}", "-tls1_2", "-cipher", f"{cipher}:@SECLEVEL=0")
        assert "Cipher is (NONE)" in done.stdout, cipher


def test_every_answer_says_that_only_https_is_spoken_here(encrypted):
    base = f"https://{NAME}:{encrypted.port}"
    for path in ("/healthz", "/mcp", "/dl/x", "/absent"):
        assert "strict-transport-security: max-age=31536000" in curl(encrypted, base + path).lower(), path


def test_the_sign_in_cookie_is_this_hosts_alone_and_the_issuer_is_https(encrypted):
    redirect = "https://app.example.com/callback"
    with TlsClient(encrypted) as client:
        asked = json.dumps({"redirect_uris": [redirect], "token_endpoint_auth_method": "none"})
        registered = client.send("POST", "/register", asked, {"Content-Type": "application/json"}).message
        query = urllib.parse.urlencode({"response_type": "code", "client_id": registered["client_id"], "redirect_uri": redirect,
                                        "code_challenge": "A" * 43, "code_challenge_method": "S256"})
        page = client.send("GET", f"/authorize?{query}")
        issuer = client.send("GET", "/.well-known/oauth-authorization-server").message["issuer"]
    assert page.status == 200, page.body
    cookie = page.headers["set-cookie"]
    assert cookie.startswith("__Host-sandkeep-sign-in=") and "; Secure" in cookie and "; Path=/" in cookie, cookie
    assert issuer == f"https://{NAME}:{encrypted.port}"


def test_a_request_in_the_clear_is_told_so(encrypted):
    answer = curl(encrypted, f"http://127.0.0.1:{encrypted.port}/healthz")
    assert "HTTP/1.1 400" in answer and "https only" in answer, answer


def test_links_are_https_and_bring_the_file_whole(encrypted, label):
    size = 3_000_000
    with TlsClient(encrypted) as client:
        client.output(label, f"head -c {size} /dev/urandom >f && sha256sum f")
        checksum = client.output(label, "sha256sum <f").split()[0]
        link = client.call("present_file", sandbox=label, path="f").text.partition("](")[2].partition(")")[0]
    assert link.startswith(f"https://{NAME}:{encrypted.port}/dl/"), link
    command = f"curl -sS --cacert {encrypted.pair.certificate} '{link}' | sha256sum"
    assert subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=60).stdout.split()[0] == checksum


def test_a_certificate_is_swapped_under_load_and_no_request_fails(encrypted, label):
    before = encrypted.served_serial()
    swapped = threading.Event()
    old = TlsClient(encrypted)
    old.authority_text = lambda text=encrypted.pair.certificate.read_text(): text

    def load():
        done = 0
        with contextlib.closing(TlsClient(encrypted)) as client:
            client.authority_text = old.authority_text
            while not swapped.is_set():
                assert client.request("tools/list")["result"]["tools"]
                done += 1
        return done

    with concurrent.futures.ThreadPoolExecutor(8) as pool, contextlib.closing(old):
        long_call = pool.submit(old.run, label, "sleep 6; echo whole")
        loads = [pool.submit(load) for _ in range(6)]
        encrypted.pair.make()
        try:
            wait_for("the new certificate", lambda: encrypted.served_serial() == encrypted.pair.serial())
        finally:
            swapped.set()
        assert all(each.result() > 0 for each in loads)
        assert long_call.result().output == "whole\n"
        # The connection of before is open yet.
        assert old.output(label, "echo same") == "same\n"
    assert encrypted.served_serial() != before
    assert "tls.renewed" in encrypted.log("gateway")


def test_a_broken_renewal_leaves_the_old_certificate_in_use(encrypted):
    before = encrypted.served_serial()
    encrypted.pair.certificate.write_text("half a certi")
    wait_for("the warning", lambda: "tls.kept" in encrypted.log("gateway"))
    assert "holds no certificate in PEM" in encrypted.log("gateway")
    assert encrypted.served_serial() == before
    encrypted.pair.make()
    wait_for("the new certificate", lambda: encrypted.served_serial() == encrypted.pair.serial())


@pytest.fixture
def refusal(encrypted):
    """What a start with a pair as it is now says."""
    def start(**settings):
        encrypted.stop_gateway()
        encrypted.start_gateway(wait=False, **settings)
        assert encrypted.gateway.wait(timeout=20) != 0
        return encrypted.log("gateway").splitlines()[-1]
    yield start
    encrypted.pair.make()
    encrypted.start_gateway()


def test_a_pair_that_cannot_be_used_is_named_at_the_start(encrypted, refusal):
    pair = encrypted.pair
    os.chmod(pair.key, 0o600)
    said = refusal()
    assert "TLS_KEY" in said and "Permission denied" in said and "own user may read" in said, said
    pair.make()
    pair.expire()
    assert "is expired: renew it" in refusal()
    pair.make()
    other = Pair(encrypted.state / "other").make()
    assert "isn't the key of the first certificate" in refusal(TLS_KEY=str(other.key))
    shutil.rmtree(other.folder)
    assert "one is of no use without the other" in refusal(TLS_KEY="")
