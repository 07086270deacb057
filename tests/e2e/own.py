"""What the service says of itself arrives at a Collector; sent home by it, it does not go round in circles."""

import json
import re
import time
import urllib.request

from stack import Collector, Failure, Serve, say, wait

# One call by an agent: something to receive and to judge.
SPAN = {
    "resourceSpans": [
        {
            "resource": {"attributes": [{"key": "service.name", "value": {"stringValue": "caller"}}]},
            "scopeSpans": [
                {
                    "scope": {"name": "e2e"},
                    "spans": [
                        {
                            "traceId": "0af7651916cd43dd8448eb211c80319c",
                            "spanId": "b7ad6b7169203331",
                            "name": "GetTask",
                            "kind": 3,
                            "startTimeUnixNano": "0",
                            "endTimeUnixNano": "0",
                            "attributes": [
                                {"key": "a2a.method.name", "value": {"stringValue": "GetTask"}},
                                {"key": "a2a.task.id", "value": {"stringValue": "t-1"}},
                                {"key": "server.address", "value": {"stringValue": "agent.example"}},
                            ],
                        }
                    ],
                }
            ],
        }
    ]
}


def run(context):
    """A Collector that prints what it gets, and sends it home."""
    folder = context.folder("own")
    # The address of the service is known only when it runs, and it must know the Collector's: two Collectors, one after
    # the other, of which the second asks the first.
    print_all = {"debug": {"verbosity": "detailed"}}
    home = Home(context, folder, print_all)
    serve = home.serve
    send(serve, 1)
    wanted = ("tick", "receive", "a2a_drift.tick.duration", "a2a_drift.intake.duration", "a2a_drift.facts")
    wait("the service's own traces and metrics at the Collector", lambda: all(arrived(home.collector, wanted)))
    counts = {name: home.collector_said().count(f": {name}\n") for name in wanted}
    say(f"   at the Collector: {counts}")
    home.check_no_loop()
    context.end(home.collector)
    if serve.stop() != 0:
        raise Failure(serve.tail())


def arrived(collector, wanted):
    collector.check()
    with open(collector.log, encoding="utf-8", errors="replace") as log:
        said = log.read()
    return [re.search(r"Name\s*: " + re.escape(name) + r"\n", said) for name in wanted]


def send(serve, number):
    body = json.loads(json.dumps(SPAN))
    span = body["resourceSpans"][0]["scopeSpans"][0]["spans"][0]
    now = time.time_ns()
    span.update(spanId=f"{number:016x}", startTimeUnixNano=str(now - 1000), endTimeUnixNano=str(now))
    request = urllib.request.Request(
        serve.http + "/v1/traces", json.dumps(body).encode(), {"content-type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        answer.read()


class Home:
    """The service and the Collector that sends its telemetry back to it."""

    def __init__(self, context, folder, print_all):
        env = {
            "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc",
            "OTEL_BSP_SCHEDULE_DELAY": "500",
            "OTEL_METRIC_EXPORT_INTERVAL": "1000",
        }

        # The Collector's exporter waits for the service, which is started after it.
        class Later(Serve):
            def start(self):
                to = {**print_all, "otlp_grpc": {"endpoint": self.grpc, "tls": {"insecure": True}}}
                signals = {signal: list(to) for signal in ("traces", "metrics", "logs")}
                self.collector = context.own(Collector(context.tools, folder, to, signals)).wait()
                self.env["OTEL_EXPORTER_OTLP_ENDPOINT"] = "http://" + self.collector.grpc
                super().start()

        self.serve = context.own(Later(context.binary, folder, env=env))
        self.collector = self.serve.collector
        self.serve.wait()

    def collector_said(self):
        with open(self.collector.log, encoding="utf-8", errors="replace") as log:
            return log.read()

    def received(self):
        return self.serve.total("a2a_drift_received_total")

    def check_no_loop(self):
        """What comes home makes no more of it: as much is received in the second half of a time as in the first."""
        wait("own spans to come home", lambda: self.received() > 2)
        counts = [self.received()]
        for _ in range(2):
            time.sleep(8)
            counts.append(self.received())
        first, second = counts[1] - counts[0], counts[2] - counts[1]
        receive = len(re.findall(r"Name\s*: receive\n", self.collector_said()))
        say(f"   sent home: {first:.0f} and then {second:.0f} records in 8 s each; {receive} spans of receiving in all")
        # A tick a second makes a span; twice as many is generous, a loop doubles without end.
        if second > 2 * first + 20 or receive > 4:
            raise Failure("the service's own telemetry goes round in circles")
