"""Programs that a test starts, and conditions that it waits for. Standard library only.

Every program listens on ports that were free a moment ago, writes into a folder of its own, and ends with the test.
"""

import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

# Machines that run tests are busy with other things: a limit is there to end a test that hangs, not to measure.
PATIENCE = float(os.environ.get("E2E_PATIENCE", "180"))


class Failure(Exception):
    """What was expected did not come about."""


def say(text):
    print(text, flush=True)


def free_ports(count):
    """Ports that nobody listens on."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [opened.getsockname()[1] for opened in sockets]
    for opened in sockets:
        opened.close()
    return ports


def get(url, timeout=30):
    """The JSON that an address answers with."""
    with urllib.request.urlopen(url, timeout=timeout) as answer:
        return json.load(answer)


def text_of(url, timeout=30):
    with urllib.request.urlopen(url, timeout=timeout) as answer:
        return answer.read().decode()


def wait(what, condition, patience=None, pause=0.2):
    """Waits until a condition holds, and returns what it gave. A condition that cannot be asked does not hold yet."""
    ends = time.monotonic() + (patience or PATIENCE)
    said = None
    while time.monotonic() < ends:
        try:
            if found := condition():
                return found
        except (OSError, http.client.HTTPException, ValueError) as error:
            said = error
        time.sleep(pause)
    raise Failure(f"waited {patience or PATIENCE:.0f} s in vain for {what}" + (f": {said}" if said else ""))


class Program:
    """A program that runs while it is wanted; its output goes to a file."""

    def __init__(self, name, command, folder, env=None, **more):
        os.makedirs(folder, exist_ok=True)
        self.name, self.command, self.folder = name, [str(part) for part in command], folder
        self.log = os.path.join(folder, f"{name}.log")
        self.env = {**os.environ, **(env or {})}
        self.more = more
        self.start()

    def start(self):
        with open(self.log, "ab") as log:
            more = {"stdout": log, "stderr": log, "stdin": subprocess.DEVNULL, **self.more}
            self.process = subprocess.Popen(self.command, env=self.env, cwd=self.folder, start_new_session=True, **more)

    def check(self):
        if self.process.poll() is not None:
            raise Failure(f"{self.name} ended with {self.process.returncode}\n{self.tail()}")

    def tail(self, lines=30):
        with open(self.log, encoding="utf-8", errors="replace") as log:
            return "".join(log.readlines()[-lines:])

    def kill(self):
        """As a crash would: nothing is told to the program."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def stop(self, patience=60):
        """As an operator would. Returns the exit code."""
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(patience)
            except subprocess.TimeoutExpired:
                self.kill()
                return None
        # What it started and left behind.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        return self.process.returncode


class Serve(Program):
    """`a2a-drift serve`."""

    def __init__(self, binary, folder, settings="", env=None, name="serve", more=()):
        os.makedirs(folder, exist_ok=True)
        grpc, http_port, admin = free_ports(3)
        self.binary = binary
        self.grpc, self.http, self.admin = f"127.0.0.1:{grpc}", f"http://127.0.0.1:{http_port}", f"127.0.0.1:{admin}"
        self.data = os.path.join(folder, "data")
        self.config = config = os.path.join(folder, "a2a-drift.toml")
        self.set(settings)
        command = [binary, "serve", "--config", config, "--data", self.data, "--otlp-grpc", self.grpc]
        command += ["--otlp-http", f"127.0.0.1:{http_port}", "--admin", self.admin, *more]
        super().__init__(name, command, folder, env)

    def set(self, settings):
        """Settings of the next start."""
        with open(self.config, "w", encoding="utf-8") as file:
            file.write(settings)

    def is_ready(self):
        self.check()
        return get(f"http://{self.admin}/readyz")["status"] == "ready"

    def wait(self):
        wait(f"{self.name} to be ready", self.is_ready)
        return self

    def metrics(self):
        """Values on /metrics, by name and labels as they stand there."""
        lines = (line for line in text_of(f"http://{self.admin}/metrics").splitlines() if line[:1] not in ("", "#"))
        return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines)}

    def total(self, name):
        """Sum of a metric over its labels."""
        return sum(value for key, value in self.metrics().items() if key.split("{")[0] == name)

    def findings(self):
        """All that fires, page by page."""
        return get(f"http://{self.admin}/api/v1/findings?limit=1000")

    def rest(self, seconds=12):
        """Waits until nothing was written for so long: open traces are settled, and all facts where `query` reads them."""
        last = [0.0, time.monotonic()]

        def rests():
            self.check()
            sizes = self.metrics()
            if (size := (sizes["a2a_drift_wal_bytes"], sizes["a2a_drift_lake_bytes"])) != last[0]:
                last[:] = size, time.monotonic()
            return time.monotonic() - last[1] > seconds

        wait("everything to be stored", rests, pause=0.5)

    def query(self, sql):
        """Rows of a question to the stored facts."""
        command = [self.binary, "query", "--format", "json", sql, self.data]
        asked = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE * 3, check=False)
        if asked.returncode:
            raise Failure(f"query ended with {asked.returncode}: {asked.stderr[-2000:]}")
        return [json.loads(line) for line in asked.stdout.splitlines()]


class Collector(Program):
    """A real OpenTelemetry Collector: OTLP in; exporters and pipelines as given."""

    def __init__(self, tools, folder, exporters, to, name="collector", detailed=False):
        self.grpc_port, http_port = free_ports(2)
        self.grpc, self.http = f"127.0.0.1:{self.grpc_port}", f"http://127.0.0.1:{http_port}"
        signals = {signal: {"receivers": ["otlp"], "exporters": to[signal]} for signal in to}
        config = {
            "receivers": {
                "otlp": {
                    "protocols": {"grpc": {"endpoint": self.grpc}, "http": {"endpoint": f"127.0.0.1:{http_port}"}}
                }
            },
            "exporters": exporters,
            "service": {"telemetry": {"metrics": {"level": "none"}}, "pipelines": signals},
        }
        os.makedirs(folder, exist_ok=True)
        path = os.path.join(folder, f"{name}.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(config, file, indent=1)
        super().__init__(name, [os.path.join(tools, "otelcol"), "--config", f"file:{path}"], folder)

    def wait(self):
        def listens():
            self.check()
            socket.create_connection(("127.0.0.1", self.grpc_port), 1).close()
            return True

        wait("the Collector to listen", listens)
        return self


class Server(Program):
    """One of Prometheus' servers, from a configuration in its folder."""

    def __init__(self, name, tools, folder, config, more):
        program = name.split("-")[0]
        (port,) = free_ports(1)
        self.url = f"http://127.0.0.1:{port}"
        os.makedirs(folder, exist_ok=True)
        path = os.path.join(folder, f"{name}.yml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(config)
        command = [os.path.join(tools, program), f"--config.file={path}", f"--web.listen-address=127.0.0.1:{port}"]
        super().__init__(name, command + more, folder)

    def wait(self):
        wait(f"{self.name} to be ready", lambda: self.check() or text_of(self.url + "/-/ready"))
        return self


class Prometheus(Server):
    """A real Prometheus, from a configuration and rules in its folder."""

    def __init__(self, tools, folder, config):
        more = ["--storage.tsdb.path=tsdb", "--enable-feature=exemplar-storage"]
        super().__init__("prometheus", tools, folder, config, more)

    def query(self, expression):
        """Series that an expression gives now."""
        asked = self.url + "/api/v1/query?" + urllib.parse.urlencode({"query": expression})
        try:
            return get(asked)["data"]["result"]
        except urllib.error.HTTPError as error:
            raise Failure(f"{expression}: {error.read().decode()}") from error

    def alerts(self):
        return get(self.url + "/api/v1/alerts")["data"]["alerts"]


class Alertmanager(Server):
    """A real Alertmanager."""

    def __init__(self, tools, folder, config, name="alertmanager"):
        more = [f"--storage.path={name}", "--cluster.listen-address="]
        super().__init__(name, tools, folder, config, more)

    def alerts(self):
        """Alerts that are active: neither resolved nor silenced; inhibited ones are among them."""
        return get(self.url + "/api/v2/alerts?active=true&silenced=false&inhibited=true")


class Fleet(Program):
    """The agents and their caller."""

    def __init__(self, python, here, folder, plan):
        os.makedirs(folder, exist_ok=True)
        path = os.path.join(folder, "plan.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(plan, file)
        # The current HTTP conventions, and nothing of the machine's own settings.
        env = {"OTEL_SEMCONV_STABILITY_OPT_IN": "http", "PYTHONUNBUFFERED": "1"}
        command = [python, os.path.join(here, "fleet"), path]
        with open(os.path.join(folder, "fleet.log"), "ab") as log:
            super().__init__("fleet", command, folder, env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log)
        self.told()

    def told(self):
        line = self.process.stdout.readline()
        if not line:
            raise Failure(f"the fleet ended\n{self.tail()}")
        answer = json.loads(line)
        if "error" in answer:
            raise Failure(f"the fleet could not obey: {answer['error']}\n{answer['where']}")
        return answer["ok"]

    def order(self, do, **what):
        self.process.stdin.write(json.dumps({"do": do, **what}).encode() + b"\n")
        self.process.stdin.flush()
        return self.told()


def main_of(parts):
    """Runs parts one after the other; a failure of one ends the run."""
    for name, part in parts:
        say(f"\n-- {name}")
        started = time.monotonic()
        try:
            part()
        except Failure as failure:
            say(f"FAILED {name}: {failure}")
            sys.exit(1)
        say(f"   {name}: {time.monotonic() - started:.0f} s")
