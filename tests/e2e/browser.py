"""A headless Chromium, driven over WebDriver's plain HTTP: enough for a page with a form."""

import base64
import http.client
import json
import shutil
import subprocess
import tempfile

from stack import free_port, wait_for

DRIVER, BROWSER = "/usr/bin/chromedriver", "/usr/bin/chromium"
FLAGS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage"]
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"


def what_is_missing():
    missing = [path for path in (DRIVER, BROWSER) if not shutil.which(path)]
    return f"{' and '.join(missing)} missing: apt-get install chromium chromium-driver" if missing else ""


class Browser:
    def __enter__(self):
        self.port = free_port()
        self.profile = tempfile.mkdtemp(prefix="sandkeep-browser-")
        self.driver = subprocess.Popen([DRIVER, f"--port={self.port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.session = ""
        try:
            wait_for("chromedriver", self._is_ready)
            options = {"binary": BROWSER, "args": [*FLAGS, f"--user-data-dir={self.profile}"]}
            wanted = {"alwaysMatch": {"goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}}
            self.session = "/session/" + self._send("POST", "/session", {"capabilities": wanted})["sessionId"]
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        if self.session:
            self._send("DELETE", self.session)
        self.driver.terminate()
        self.driver.wait(timeout=15)
        shutil.rmtree(self.profile, ignore_errors=True)

    def _is_ready(self):
        try:
            return self._send("GET", "/status")["ready"]
        except OSError:
            return False

    def _send(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, path, None if method != "POST" else json.dumps(body or {}),
                               {"Content-Type": "application/json"})
            value = json.loads(connection.getresponse().read())["value"]
        finally:
            connection.close()
        if isinstance(value, dict) and "error" in value:
            raise RuntimeError(f"{method} {path}: {value['error']}: {value['message']}")
        return value

    def _element(self, css):
        found = self._send("POST", f"{self.session}/element", {"using": "css selector", "value": css})
        return f"{self.session}/element/{found[ELEMENT]}"

    def open(self, url):
        self.complaints()
        self._send("POST", f"{self.session}/url", {"url": url})

    @property
    def url(self):
        return self._send("GET", f"{self.session}/url")

    def type(self, css, text):
        self._send("POST", f"{self._element(css)}/value", {"text": text})

    def click(self, css):
        self._send("POST", f"{self._element(css)}/click")

    def run(self, script):
        return self._send("POST", f"{self.session}/execute/sync", {"script": script, "args": []})

    def devtools(self, command, **parameters):
        return self._send("POST", f"{self.session}/goog/cdp/execute", {"cmd": command, "params": parameters})

    def show_as(self, width, height, scheme):
        self.devtools("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)
        self.devtools("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def screenshot(self, path):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(base64.b64decode(self._send("GET", f"{self.session}/screenshot")))

    def complaints(self):
        """What pages made the browser complain of since the last open: a policy that bites shows here."""
        entries = self._send("POST", f"{self.session}/se/log", {"type": "browser"})
        return [entry["message"] for entry in entries if "favicon" not in entry["message"]]

    def accessible_tree(self):
        """Role and name of everything that a screen reader would say."""
        nodes = self.devtools("Accessibility.getFullAXTree")["nodes"]
        return [(node["role"]["value"], node.get("name", {}).get("value", "")) for node in nodes if not node.get("ignored")]
