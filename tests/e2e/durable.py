"""The service is killed again and again while four senders send: what it acknowledged is there, once."""

import base64
import json
import random
import threading
import time
import urllib.error
import urllib.request

import grpc
from google.protobuf.json_format import ParseDict
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest, ExportTraceServiceResponse

from stack import Failure, Serve, say, wait

SPANS = 20
RETRYABLE = {grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.CANCELLED}


def batch(sender, number):
    """A request of some spans, each of a task of its own, the same whenever it is made."""
    spans = []
    for nth in range(SPANS):
        mark = (sender << 48) | (number << 16) | nth
        began = BEGAN + number * 1_000_000
        spans.append(
            {
                "traceId": f"{mark + 1:032x}",
                "spanId": f"{mark + 1:016x}",
                "name": "GetTask",
                "kind": 3,
                "startTimeUnixNano": str(began),
                "endTimeUnixNano": str(began + 1000),
                "attributes": [
                    {"key": "a2a.method.name", "value": {"stringValue": "GetTask"}},
                    {"key": "a2a.task.id", "value": {"stringValue": f"{sender}-{number}-{nth}"}},
                    {"key": "a2a.task.state", "value": {"stringValue": "TASK_STATE_WORKING"}},
                    {"key": "server.address", "value": {"stringValue": f"agent-{sender}.example"}},
                ],
            }
        )
    resource = {"attributes": [{"key": "service.name", "value": {"stringValue": f"sender-{sender}"}}]}
    return {"resourceSpans": [{"resource": resource, "scopeSpans": [{"scope": {"name": "e2e"}, "spans": spans}]}]}


BEGAN = time.time_ns()


class Sender(threading.Thread):
    """Sends batch after batch, each until it is acknowledged."""

    def __init__(self, number, serve, stop):
        super().__init__(daemon=True)
        self.number, self.serve, self.stopping = number, serve, stop
        self.acknowledged = self.again = 0
        self.failed = None

    def run(self):
        send = self.over_grpc if self.number % 2 else self.over_http
        try:
            while not self.stopping.is_set():
                message = batch(self.number, self.acknowledged)
                while not send(message):
                    self.again += 1
                    time.sleep(0.1)
                self.acknowledged += 1
        except Exception as error:  # told by who waits for the thread
            self.failed = error

    def over_http(self, message):
        body = json.dumps(message).encode()
        request = urllib.request.Request(self.serve.http + "/v1/traces", body, {"content-type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                said = json.loads(answer.read())
                if said:
                    raise Failure(f"a partial success: {said}")
                return True
        except urllib.error.HTTPError as error:
            if error.code in (429, 502, 503, 504):
                return False
            raise Failure(f"refused: {error.code} {error.read()[:300]}") from error
        except (OSError, ValueError, urllib.error.URLError):
            return False
        except Exception as error:  # http.client's, of a connection that broke in the answer
            if type(error).__module__ == "http.client":
                return False
            raise

    def over_grpc(self, message):
        message = protobuf(message)
        try:
            with grpc.insecure_channel(self.serve.grpc) as channel:
                export = channel.unary_unary(
                    "/opentelemetry.proto.collector.trace.v1.TraceService/Export",
                    request_serializer=ExportTraceServiceRequest.SerializeToString,
                    response_deserializer=ExportTraceServiceResponse.FromString,
                )
                answer = export(message, timeout=30)
            if answer.HasField("partial_success"):
                raise Failure(f"a partial success: {answer}")
            return True
        except grpc.RpcError as error:
            if error.code() in RETRYABLE:
                return False
            raise Failure(f"refused: {error.code()} {error.details()}") from error


def protobuf(message):
    """The message, of which protobuf's own JSON has ids in base64."""
    message = json.loads(json.dumps(message))
    for span in message["resourceSpans"][0]["scopeSpans"][0]["spans"]:
        for key in ("traceId", "spanId"):
            span[key] = base64.b64encode(bytes.fromhex(span[key])).decode()
    return ParseDict(message, ExportTraceServiceRequest())


def run(context):
    """Kills, restarts, counts."""
    chance = random.Random(7)
    # Facts are soon in the lake, where `query` reads them.
    settings = '[serve]\nsettle = "1s"\nlake_every = "5s"\n'
    serve = context.own(Serve(context.binary, context.folder("durable"), settings)).wait()
    stop = threading.Event()
    senders = [Sender(number, serve, stop) for number in range(4)]
    for sender in senders:
        sender.start()
    down = []
    for _ in range(context.kills):
        before = [sender.acknowledged for sender in senders]
        started = time.monotonic()
        wait("every sender to be acknowledged", lambda before=before: acknowledged(senders, before, serve), pause=0.02)
        down.append(time.monotonic() - started)
        time.sleep(chance.uniform(0, 0.7))
        serve.kill()
        serve.start()
    stop.set()
    for sender in senders:
        sender.join(300)
        if sender.is_alive() or sender.failed:
            raise Failure(f"sender {sender.number}: {sender.failed or 'does not end'}\n{serve.tail()}")
    wait("the service to be ready", serve.is_ready)
    serve.rest()
    if serve.stop(300) != 0:
        raise Failure(f"serve did not end well\n{serve.tail()}")
    check(serve, senders)
    total = sum(sender.acknowledged for sender in senders)
    say(
        f"   killed {context.kills} times; {total * SPANS} spans in {total} requests acknowledged, "
        f"{sum(sender.again for sender in senders)} sent again: all there, none twice; "
        f"acknowledging again after {sorted(down)[len(down) // 2]:.1f} s (median), {max(down):.1f} s at most"
    )


def acknowledged(senders, before, serve):
    serve.check()
    for sender in senders:
        if sender.failed:
            raise Failure(f"sender {sender.number}: {sender.failed}\n{serve.tail()}")
    return all(sender.acknowledged > was for sender, was in zip(senders, before, strict=True))


def check(serve, senders):
    """Of each sender as many calls as spans were acknowledged, and as many different ones."""
    rows = serve.query(
        "SELECT agent_ref, count(*) AS facts, count(DISTINCT call_id) AS calls, count(DISTINCT task_id) AS tasks "
        "FROM exchanges GROUP BY agent_ref"
    )
    for sender in senders:
        wanted = sender.acknowledged * SPANS
        row = next((row for row in rows if f"agent-{sender.number}.example" in row["agent_ref"]), None)
        if row is None or (row["facts"], row["calls"], row["tasks"]) != (wanted, wanted, wanted):
            raise Failure(f"{wanted} spans of sender {sender.number} were acknowledged, but stored is {row}")
