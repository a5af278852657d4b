"""One agent and one gateway of this build, as an operator would run them, with a state of their own.

Both run as their own users on real rootless podman. `restart_agent`, `kill_agent` and the settings given to `Stack` are what
the suites need beyond that. Everything that was started is ended by its id, and the containers and volumes of this agent's
instance are removed at the end.
"""

import contextlib
import http.client
import json
import os
import pathlib
import pwd
import re
import secrets
import shutil
import signal
import socket
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("SANDKEEP_BUILD", ROOT / "build" / "ci"))
AGENT_HOME = "/var/lib/sandkeep"
ENGINE_RUN = "/run/sandkeep/engine"
EXECUTABLES = {
    "sandkeep-gateway": "gateway/sandkeep-gateway",
    "sandkeep-agent": "agent/sandkeep-agent",
    "sandkeepctl": "agent/ctl/sandkeepctl",
    "sandkeep-init": "agent/init/sandkeep-init",
    "sandkeep-files": "agent/file_process/sandkeep-files",
    "sandkeep-imager": "agent/imager/sandkeep-imager",
}
START_SECONDS = 60
PAUSE_SECONDS = 0.02  # between two looks at what is waited for
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def as_user(user, variables, *command):
    """The command line that becomes `command` as `user` with no environment but `variables`."""
    home = pwd.getpwnam(user).pw_dir
    environment = {"HOME": home, "PATH": PATH, "LC_ALL": "C.UTF-8", **variables}
    pairs = [f"{name}={value}" for name, value in environment.items()]
    return ["setpriv", "--reuid", user, "--regid", user, "--init-groups", "--pdeathsig", "TERM",
            "env", "-i", *pairs, *map(str, command)]


def podman(*arguments, check=True):
    """Podman as the agent's user."""
    command = as_user("sandkeep", {"XDG_RUNTIME_DIR": ENGINE_RUN}, "podman", *arguments)
    done = subprocess.run(command, cwd="/", capture_output=True, text=True, timeout=120)
    if check and done.returncode != 0:
        raise RuntimeError(f"podman {arguments}: {done.stderr}")
    return done.stdout


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def wait_for(what, condition, seconds=START_SECONDS):
    """Returns the condition's first true value; the pause only bounds how often it is asked."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        value = condition()
        if value:
            return value
        time.sleep(PAUSE_SECONDS)
    raise TimeoutError(f"{what}: not within {seconds} s")


class Stack:
    def __init__(self, agent_settings=None, gateway_settings=None, gateway_program=EXECUTABLES["sandkeep-gateway"], env_file=None):
        """`env_file`: the text of one for both processes, which then have no settings but its and those given here."""
        self.id = secrets.token_hex(4)
        self.state = pathlib.Path("/var/lib") / f"sandkeep-test-{self.id}"
        self.run = pathlib.Path("/run") / f"sandkeep-test-{self.id}"
        self.socket = self.run / "agent.sock"
        self.env_file = env_file
        self.named_port = re.search(r"(?m)^SANDBOX_PORT=(\d+)$", env_file or "")
        self.port = int(self.named_port[1]) if self.named_port else free_port()
        usual = env_file is None
        self.agent_settings = {"SANDBOX_NETWORK": "full",
                               **({"SANDBOX_MAX": "8", "SANDBOX_MIN_FREE": "256m", "SANDBOX_WARM": "0"} if usual else {}),
                               **(agent_settings or {})}
        self.gateway_settings = {**({"REQUEST_RATE": "0"} if usual else {}), **(gateway_settings or {})}
        self.programs = {**EXECUTABLES, "sandkeep-gateway": gateway_program}
        self.agent = None
        self.gateway = None

    # --- life ---

    def __enter__(self):
        try:
            self._lay_out()
            # Before it runs: a running gateway sees a new key within a second, and no test shall wait for that.
            self.key = self.add_key("alice")
            self.key2 = self.add_key("bob")
            self.start_agent()
            self.start_gateway()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(self, *_):
        self.stop_gateway()
        self.stop_agent()
        self._remove_engine_objects()
        shutil.rmtree(self.state, ignore_errors=True)
        shutil.rmtree(self.run, ignore_errors=True)

    def _lay_out(self):
        (self.state / "bin").mkdir(parents=True, mode=0o755)
        for name, path in self.programs.items():
            shutil.copy2(BUILD / path, self.state / "bin" / name)
        for name, user in (("agent", "sandkeep"), ("gateway", "sandkeep-gw")):
            folder = self.state / name
            folder.mkdir(mode=0o700)
            shutil.chown(folder, user, user)
        if self.env_file is not None:
            (self.state / "sandkeep.env").write_text(self.env_file)
        self.run.mkdir(mode=0o750)
        shutil.chown(self.run, "sandkeep", "sandkeep-api")
        os.chmod(self.run, 0o2750)

    def _remove_engine_objects(self):
        mine = self._instance_filter()
        if mine is None:
            return
        names = podman("ps", "-aq", "--filter", mine, check=False).split()
        if names:
            podman("rm", "-f", "-t", "0", *names, check=False)
        for volume in podman("volume", "ls", "-q", "--filter", mine, check=False).split():
            podman("volume", "rm", volume, check=False)

    def _instance_filter(self):
        try:
            return f"label=sandkeep.instance={(self.state / 'agent' / 'instance').read_text().strip()}"
        except OSError:
            return None

    # --- the two processes ---

    def _launch(self, name, user, variables, *command):
        log = open(self.state / f"{name}.log", "ab")
        with log:
            return subprocess.Popen(as_user(user, variables, *command), cwd="/", stdin=subprocess.DEVNULL,
                                    stdout=log, stderr=log)

    def start_agent(self, wait=True, **settings):
        bin_dir = self.state / "bin"
        variables = {"XDG_RUNTIME_DIR": ENGINE_RUN, "STATE_DIR": str(self.state / "agent"),
                     "AGENT_SOCKET": str(self.socket), "INIT_PATH": str(bin_dir / "sandkeep-init"),
                     "FILES_PATH": str(bin_dir / "sandkeep-files"),
                     "IMAGER_PATH": str(bin_dir / "sandkeep-imager"), **self.agent_settings, **settings}
        self.agent = self._launch("agent", "sandkeep", variables, bin_dir / "sandkeep-agent", *self._env_file_flag())
        if wait:
            self._wait_for("agent", self.agent, lambda: self.ctl("info", check=False).returncode == 0)

    def start_gateway(self, wait=True, **settings):
        variables = self._gateway_variables() | settings
        self.gateway = self._launch("gateway", "sandkeep-gw", variables, self.state / "bin" / "sandkeep-gateway",
                                    *self._env_file_flag())
        if wait:
            self._wait_for("gateway", self.gateway, self.gateway_answers)

    def _env_file_flag(self):
        return [] if self.env_file is None else [f"--env_file={self.state / 'sandkeep.env'}"]

    def _gateway_variables(self):
        return {"STATE_DIR": str(self.state / "gateway"), "AGENT_SOCKET": str(self.socket),
                **({} if self.named_port else {"SANDBOX_PORT": str(self.port)}), **self.gateway_settings}

    def _wait_for(self, name, process, condition):
        def answers():
            if process.poll() is not None:
                raise RuntimeError(f"{name} ended with {process.returncode}:\n{self.log(name)}")
            return condition()
        try:
            wait_for(f"{name} to answer", answers)
        except TimeoutError as error:
            raise TimeoutError(f"{error}\n{self.log(name)}") from None

    def log(self, name):
        with contextlib.suppress(OSError):
            return (self.state / f"{name}.log").read_text(errors="replace")[-4000:]
        return ""

    def gateway_answers(self):
        with contextlib.suppress(OSError):
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=2)
            with contextlib.closing(connection):
                connection.request("GET", "/healthz")
                return connection.getresponse().status == 200
        return False

    @staticmethod
    def _end(process, number):
        if process is None or process.poll() is not None:
            return
        process.send_signal(number)
        try:
            process.wait(timeout=15)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise

    def stop_agent(self):
        self._end(self.agent, signal.SIGTERM)

    def kill_agent(self):
        self._end(self.agent, signal.SIGKILL)

    def stop_gateway(self):
        self._end(self.gateway, signal.SIGTERM)

    def restart_gateway(self):
        self.stop_gateway()
        self.start_gateway()

    def kill_gateway(self):
        self._end(self.gateway, signal.SIGKILL)

    @contextlib.contextmanager
    def without_descriptors(self):
        """The socket on which opened files are handed over is away: the gateway streams them."""
        door = self.run / "agent.sock.fd"
        hidden = self.run / "hidden"
        door.rename(hidden)
        try:
            self.restart_gateway()
            yield
        finally:
            hidden.rename(door)
            self.restart_gateway()

    # --- what an operator does ---

    def ctl(self, *arguments, check=True):
        command = [self.state / "bin" / "sandkeepctl", f"--agent_socket={self.socket}", *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=60, check=check)

    def gateway_command(self, *arguments):
        return as_user("sandkeep-gw", self._gateway_variables(), self.state / "bin" / "sandkeep-gateway", *arguments)

    def keys_command(self, *arguments):
        return self.gateway_command("keys", *arguments)

    @staticmethod
    def _run(command):
        return subprocess.run(command, cwd="/", capture_output=True, text=True, timeout=60, check=True).stdout.strip()

    def keys(self, *arguments):
        return self._run(self.keys_command(*arguments))

    def links(self, *arguments):
        return self._run(self.gateway_command("links", *arguments))

    def add_key(self, name):
        return self.keys("add", name)

    def containers(self):
        """The engine's own view of this agent's containers, by name."""
        rows = json.loads(podman("ps", "-a", "--format", "json", "--filter", self._instance_filter()) or "[]")
        return {row["Names"][0]: row for row in rows}

    def volumes(self):
        return podman("volume", "ls", "-q", "--filter", self._instance_filter()).split()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}/mcp"
